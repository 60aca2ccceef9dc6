"""How the modules of a view become one script."""

import re

from transformer_lab.widgets.bundle import bundle, reachable, scoped, squeezed

MODULE = """// A comment.

import { button, slider } from "./kit.js";

const [ONE, TWO] = [1, 2];  // another
let unused = 0;

// What it says.
export function used(a) {
  return `a  =  ${a} ` + "b  ;  // c" + ONE / 2;
}

function idle() { return slider(button); }

export default { render() { return used(TWO); } };
"""


def test_a_script_has_only_what_is_used():
    text = MODULE.replace("export default", "export const view =")
    used = reachable([text], {"view"})
    assert used == {"view", "used", "ONE", "TWO"}
    script = scoped("mine", text, used, {"view"})
    assert script.startswith("const $mine=(()=>{const[ONE,TWO]=[1,2];function used(a){")
    assert script.endswith("return{view}})();")
    assert not re.search("idle|unused|comment|button", script)


def test_of_what_a_module_imports_and_exports_only_what_is_used_remains():
    script = scoped("mine", MODULE, {"used", "ONE", "TWO", "slider"}, {"used"})
    assert script.startswith("const $mine=(()=>{const{slider}=$kit;const[ONE,TWO]")
    assert script.endswith("return{used}})();")


def test_two_modules_may_use_one_name_for_two_things():
    modules = ["const A = 1;\nfunction twice() { return A; }\n", "const B = 2;\nfunction twice() { return B; }\n"]
    assert reachable(modules, {"twice"}) == {"twice", "A", "B"}


def test_the_last_declaration_of_a_module_uses_nothing_of_what_the_next_one_imports():
    first, second = "export const A = 1;\n", 'import { A, B } from "./first.js";\nexport const view = A;\n'
    assert reachable([first, second, "const B = 2;\n"], {"view"}) == {"view", "A"}


def test_what_stands_in_quotes_stays_as_it_is():
    text = 'const a = "x  =  y;  // z" ;\n  f(`  { ${ a } }  ` , "\\" = ");  // gone\n'
    assert squeezed(text) == 'const a="x  =  y;  // z";f(`  { ${ a } }  `,"\\" = ");'


def test_css_loses_its_spaces_but_those_between_an_element_and_what_is_in_it():
    text = "const STYLE = `\n.a, .b { top: 1px; }\n:is(.a, .b) :focus { color: red; }\n`;"
    assert squeezed(text) == "const STYLE=`\n.a,.b{top:1px;}:is(.a,.b) :focus{color:red;}`;"


def test_modules_come_once_and_after_what_they_import():
    found = re.findall(r"const \$(\w+)=", bundle("heads"))
    assert found == ["kit", "grid", "heads"]
