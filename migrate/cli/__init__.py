"""Click commands, thin: parse options, call one function, print, exit 0 (done), 1 (work remains) or 2 (cannot run)."""
