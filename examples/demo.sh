#!/bin/sh
# The main job, end to end: convert, prove and train a TensorFlow and a Paddle model. Run it by `make demo`.
set -eu
out=${1:-demo-output}
rm -rf "$out"
mkdir -p "$out"
# TensorFlow's start-up notices would drown what is shown here.
export TF_CPP_MIN_LOG_LEVEL=2

step() { printf '\n\033[1m== %s\033[0m\n' "$1"; shift; [ $# = 0 ] || printf '$ %s\n' "$*"; }
show() { step "$@"; shift; "$@"; }

show "1/9 a TensorFlow program as it is, then with tables: what would it gain?" \
  migrate trial --steps 30 --html "$out/trial.html" -- python examples/tensorflow/clicks.py
show "2/9 another one by its source: what the conversion changes" \
  migrate convert examples/tensorflow/ctr_session.py --diff
show "3/9 convert it" \
  migrate convert examples/tensorflow/ctr_session.py -o "$out/tensorflow" --report "$out/tensorflow.json"
show "4/9 prove it: original and converted run side by side" \
  migrate verify examples/tensorflow/ctr_session.py "$out/tensorflow/ctr_session.py" --report "$out/tensorflow-proof.json"
show "5/9 train it on the native tables" \
  python "$out/tensorflow/ctr_session.py"

show "6/9 data for the Paddle MMoE, in the format of Census-Income (KDD)" \
  migrate dataset census --synthetic 40000 --normalize -o "$out/data"
show "7/9 convert the Paddle model: one-hot Linears become one embedding table" \
  migrate convert examples/mmoe/net.py --schema "$out/data/schema.yaml" -o "$out/mmoe" --report "$out/mmoe.json"
step "    its diff, constructor and forward" "diff -u examples/mmoe/net.py $out/mmoe/net.py"
diff -u examples/mmoe/net.py "$out/mmoe/net.py" | sed -n '/class MMoELayer(nn.Layer)/,$p' || true
show "8/9 prove it against Paddle" \
  migrate verify examples/mmoe/net.py "$out/mmoe/net.py" --schema "$out/data/schema.yaml" --report "$out/mmoe-proof.json"
show "9/9 train it: batch 32, learning rate 0.001" \
  python examples/mmoe/train.py --model "$out/mmoe/net.py" --data "$out/data" --steps 5000 --eval-every 1000 \
  --require-auc-ratio 0.9

migrate report html "$out/tensorflow.json" "$out/tensorflow-proof.json" "$out/mmoe.json" "$out/mmoe-proof.json" \
  -o "$out/report.html" 2>/dev/null
step "done: open $out/report.html, and $out/trial.html"
