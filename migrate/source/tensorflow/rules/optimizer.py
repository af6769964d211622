"""Optimizers without a table optimizer that computes the same."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register

MADE = 'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\ne = tf.nn.embedding_lookup(W, ids)\n'


@register
class Optimizer(Rule):
    """A table is trained by an optimizer that computes what the stock one does; without one, the tables stay."""

    id = "tf-optimizer"
    title = "A model of an optimizer without a counterpart keeps its tables"
    applicability = None
    refusals = (
        Refusal(
            "several-makers",
            "`{text}` makes an optimizer",
            "the optimizer is made in other ways as well",
            "make it in one place",
        ),
        Refusal(
            "made-several-times",
            "`{text}` makes an optimizer",
            "it is called several times, and each optimizer keeps a state of its own, but a table has one state",
            "call it once, and keep what it makes",
        ),
        Refusal(
            "no-counterpart",
            "`{text}` trains the tables of this file",
            "no table optimizer computes the same as {short} yet",
            "use SGD, Momentum, Adagrad, Adadelta, RMSProp, Ftrl or Adam",
        ),
        Refusal(
            "unread-arguments",
            "`{text}` trains the tables of this file",
            "its arguments cannot be read",
            "write its arguments out, without stars",
        ),
        Refusal(
            "other-function",
            "`{text}` makes the optimizer of another function",
            "`global` or `nonlocal` binds it for another function, and would not do so for that of the tables",
            "return the optimizer from the function that makes it",
        ),
        Refusal(
            "parameter",
            "the optimizer `{text}` is a parameter",
            "the tables need an optimizer of their own, which its callers do not pass",
            "make the optimizer in this function, or take it from a function that returns it",
        ),
        Refusal(
            "wrapped",
            "`{text}` trains the tables of this file",
            "it takes the place of `{name}`, which it is given, and what it does to a table is not known",
            "train by `{name}` as it was made",
        ),
        Refusal(
            "choice-of-unknown",
            "`{text}` trains the tables of this file",
            "it is chosen inside an expression, and `{code}` is no call of an optimizer that tables have as well",
            "choose it by `if` and `else`, on lines of their own",
        ),
        Refusal(
            "condition-twice",
            "`{text}` trains the tables of this file",
            "it is chosen inside an expression, and the condition `{code}` would be computed twice",
            "choose it by `if` and `else`, on lines of their own",
        ),
        Refusal(
            "arguments-twice",
            "`{text}` trains the tables of this file",
            "it is chosen inside an expression, and its arguments would be computed twice",
            "choose it by `if` and `else`, on lines of their own",
        ),
        Refusal(
            "unnamed-choice",
            "`{text}` trains the tables of this file",
            "it is chosen inside an expression, and the choice has no name of its own",
            "choose it by `if` and `else`, on lines of their own",
        ),
        Refusal(
            "maker-with-effects",
            "`{text}` trains the tables of this file",
            "what makes it does more than that, or cannot be called a second time for the tables",
            "make a stock optimizer where the model is trained, or in a function that does nothing else",
        ),
        Refusal(
            "one-of-several",
            "`{text}` trains the tables of this file",
            "it is one of several objects, and that of the tables would have to be chosen with it",
            "choose the class, as in `CLASSES[name](rate)`, or choose by `if` and `else`",
        ),
        Refusal(
            "computed-class",
            "`{text}` trains the tables of this file",
            "its class is found by a name that is decided at run time",
            "choose the class from a dict, as in `CLASSES[name](rate)`, or by `if` and `else`",
        ),
        Refusal(
            "property",
            "`{text}` trains the tables of this file",
            "it is a property, which makes an optimizer whenever it is read",
            "make the optimizer once, where the object is made, or in a method",
        ),
        Refusal(
            "unknown",
            "`{text}` trains the tables of this file",
            "it is not a stock optimizer made in this file, so what it does to a table is not known",
            "make the optimizer in this file",
        ),
        Refusal(
            "handed-on",
            "`{text}` hands the optimizer on",
            "an optimizer that is handed on may train in a way that is not in this file",
            "train where the optimizer is made, and hand the loss on instead",
        ),
        Refusal(
            "variables-listed",
            "`{text}` lists the optimizer's variables",
            "the slots of a table are not among these variables",
            "train where the optimizer is made, and hand the loss on instead",
        ),
    )
    examples = (
        Example(
            "no counterpart",
            MADE + "op = tf.train.AdagradDAOptimizer(0.1).minimize(e)\n",
            says="AdagradDA",
        ),
    )
