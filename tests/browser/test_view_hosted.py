"""A view as a widget in a real front-end: what the kernel computes next takes its place."""

from lab import THIS_MACHINE, ran
from live import Live, near

SET_UP = """import torch
from transformer_lab import widgets
def view(base):
    weights = torch.full((1, 40, 40), 1 / 40)  # so many that they come deflated
    weights[0, 0] = torch.tensor([base, *[(1 - base) / 39] * 39])
    return widgets.attention(weights, list(map(str, range(40))), list(map(str, range(40))))
widget = view(0.25).as_widget()"""


def test_a_hosted_view_shows_what_the_kernel_computes_next(browser, address_here, lab_folder):
    with ran(browser, address_here, lab_folder, SET_UP, "widget", "widget.show(view(0.5))") as notebook:
        page = notebook.page
        page.wait_for_function("() => document.querySelector('.tl-view')?.values?.[0][0] > 0.49")
        view = Live(page, page.locator(".tl-view"))
        near(view.values()[0], [0.5, *[0.5 / 39] * 39])
        view.labelled("causal mask").check()
        near(view.values()[0], [1.0, *[0.0] * 39])
        assert notebook.new_errors() == []
        assert notebook.hosts <= THIS_MACHINE
