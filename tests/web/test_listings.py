"""Where a line of code may go on below itself on a page."""

import importlib

import pytest


@pytest.fixture
def with_lines(monkeypatch, request):
    monkeypatch.syspath_prepend(request.config.rootpath / "web")
    return importlib.import_module("listings").with_lines


def test_code_goes_on_after_a_bracket_and_before_a_method_of_a_result(with_lines):
    call = '<span class="n">scores</span><span class="p">(</span><span class="n">x</span><span class="p">)</span>'
    code = f'{call}<span class="o">.</span><span class="n">softmax</span><span class="p">()</span>'
    set_ = with_lines(f"<pre><span></span>{code}\n</pre>")
    assert '(</span><wbr><span class="n">x' in set_
    assert ')</span><wbr><span class="o">.' in set_
    assert set_.count("<wbr>") == 2


def test_a_name_in_the_prose_goes_on_after_an_underscore_or_a_dot(with_lines):
    code = '<code class="docutils literal"><span class="pre">nn.multi_head</span></code>'
    assert "nn.<wbr>multi_<wbr>head</span>" in with_lines(code)


TRAINING = "\n".join(["def train(model):", *(f"    step_{i}()" for i in range(7)), "    optimizer.step()"])


@pytest.mark.parametrize(
    ("prose", "code", "folds"),
    [
        ("We train.", TRAINING, 1),
        ('We call <code class="literal">train</code>.', TRAINING, 0),
        ("We train.", TRAINING.replace("optimizer", "walker"), 0),
        ("We go.", TRAINING.replace(":", ':\n    """The losses."""'), 1),
        ("We train.", TRAINING.replace(":", ':\n    """The losses."""'), 0),
    ],
)
def test_a_loop_of_training_is_folded_unless_the_prose_names_it_in_code(with_lines, prose, code, folds):
    page = with_lines(f"<p>{prose}</p><pre><span></span>{code}\n</pre>")
    assert page.count("<details") == folds
    assert page.index("def train") < page.index("step_0")


def test_a_text_may_go_on_below_itself_and_columns_may_not(with_lines):
    printed = 'output stream">\n<div class="highlight"><pre><span></span>{}\n</pre>'
    assert "columns" not in with_lines(printed.format("[&#39;cat: after the&#39;, &#39;sat: after cat&#39;]"))
    assert "columns" in with_lines(printed.format("target:  ein  zig  end\ninput:   begin  ein  zig"))


def test_code_that_is_long_on_a_phone_says_below_it_what_it_does(with_lines):
    code = ["class Head:", "    pass", "", *(f"part_{i} = {i}" for i in range(14)), "print(part_0)"]
    assert "all-lines" not in with_lines(f"<pre><span></span>{code[0]}\n</pre>")
    page = with_lines("<pre><span></span>{}\n</pre>".format("\n".join(code)))
    assert 'data-more="All 17 lines: defines Head, makes part_0, part_1 and more, prints"' in page
    assert page.count("<pre") == 1, "nothing is taken out of it"
