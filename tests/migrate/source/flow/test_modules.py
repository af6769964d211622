"""What `getattr` of a module that is imported by its name may be."""

from __future__ import annotations

import pytest

from migrate.source.flow import Class, Function, Unknown, ValueFlow
from migrate.source.syntax.tree import Tree

BELL = "def Bell(item):\n    return item\nclass Other:\n    pass\n"
HEAD = "import importlib\nNAME, OTHER = read()\n"
IMPORT = "module = importlib.import_module('models.' + NAME)\n"
#: Its attribute of its own name.
OWN = {
    "a name": IMPORT + "made = getattr(module, NAME)\n",
    "at once": "made = getattr(importlib.import_module(f'models.{NAME}'), NAME)\n",
    "in a function": "def make(name):\n    module = importlib.import_module('models.%s' % name)\n"
    "    made = getattr(module, name)\n    return made\n",
    "of two packages": "if NAME:\n    module = importlib.import_module('models.' + NAME)\nelse:\n"
    "    module = importlib.import_module('others.{}'.format(NAME))\nmade = getattr(module, NAME)\n",
}
#: It may be another attribute.
ANY = {
    "another name": IMPORT + "made = getattr(module, OTHER)\n",
    "a computed name": IMPORT + "made = getattr(module, NAME.title())\n",
    "bound again": "name = NAME\nmodule = importlib.import_module('models.' + name)\nname = OTHER\n"
    "made = getattr(module, name)\n",
    "of an earlier turn": "module = None\nfor name in (NAME, OTHER):\n    made = getattr(module, name, None)\n"
    "    module = module or importlib.import_module('models.' + name)\n",
    "kept from an earlier turn": "for name in (NAME, OTHER):\n    if name == NAME:\n"
    "        module = importlib.import_module('models.' + name)\n    made = getattr(module, name)\n",
    "another module": "import models.Bell as module\n"
    + IMPORT.replace("module =", "kept =")
    + "made = getattr(module, NAME)\n",
    "set by a function": IMPORT + "def change():\n    global NAME\n    NAME = OTHER\nchange()\n"
    "made = getattr(module, NAME)\n",
    "any module": IMPORT.replace("'models.' + ", "") + "made = getattr(module, NAME)\n",
    "a sum of three": IMPORT.replace("+ NAME", "+ OTHER + NAME") + "made = getattr(module, NAME)\n",
    "a name twice": IMPORT.replace("'models.' + NAME", "'models.{0}{0}'.format(NAME)")
    + "made = getattr(module, NAME)\n",
    "a part of a name": IMPORT.replace("models.", "models.B") + "made = getattr(module, NAME)\n",
}


def made(code: str) -> list[object]:
    main = Tree("main.py", HEAD + code)
    outside = {"models.Bell": "models/Bell.py"}
    trees = {tree.path: tree for tree in (main, Tree("models/Bell.py", BELL), Tree("others/Bell.py", BELL))}
    flow = ValueFlow(list(trees.values()), lambda tree, name: (trees[outside[name]], "") if name in outside else None)
    return [value for name in main.names["made"] for value in flow.values(name)] or [
        value for call in main.calls if main.source(call.func) == "getattr" for value in flow.values(call)
    ]


@pytest.mark.parametrize("code", OWN.values(), ids=OWN)
def test_the_modules_own_name_is_known(code: str) -> None:
    found = made(code + "made\n" if "return" not in code else code)
    assert [one for one in found if isinstance(one, Function | Class)], found
    assert {one.node.name.value for one in found if isinstance(one, Function)} == {"Bell"}  # type: ignore[union-attr]
    assert not any(isinstance(one, Unknown | Class) for one in found)


@pytest.mark.parametrize("code", ANY.values(), ids=ANY)
def test_another_name_may_be_anything(code: str) -> None:
    assert any(isinstance(one, Unknown) for one in made(code + "made\n"))
