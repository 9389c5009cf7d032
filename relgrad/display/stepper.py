"""A derivation as a widget for live notebooks: forwards, backwards, a slider, and keys."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from relgrad.display.page import element, framed, joined

MOST = 200
"""So many steps a widget holds; of longer derivations half of them from the beginning and half from the end."""

_MODULE = """
function render({ model, el }) {
  const frames = model.get("frames"), last = frames.length - 1;
  el.innerHTML = model.get("shell");
  const find = (name) => el.querySelector(`[data-part="${name}"]`);
  const view = find("view"), slider = find("slider"), label = find("label");
  const back = find("back"), next = find("next");
  slider.max = last;
  const clamp = (i) => Math.max(0, Math.min(last, i));
  function show() {
    const i = clamp(model.get("index"));
    view.innerHTML = frames[i];
    slider.value = i;
    slider.setAttribute("aria-valuetext", model.get("titles")[i]);
    label.textContent = model.get("titles")[i];
    back.disabled = i === 0;
    next.disabled = i === last;
  }
  function go(i) {
    model.set("index", clamp(i));
    model.save_changes();
    show();
  }
  const at = () => clamp(model.get("index"));
  back.onclick = () => go(at() - 1);
  next.onclick = () => go(at() + 1);
  slider.oninput = () => go(Number(slider.value));
  const keys = {
    ArrowRight: () => at() + 1, n: () => at() + 1, ArrowLeft: () => at() - 1, b: () => at() - 1,
    Home: () => 0, End: () => last,
  };
  function press(event) {
    const target = keys[event.key];
    if (!target || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    go(target());
  }
  el.addEventListener("keydown", press);
  model.on("change:index", show);
  show();
  return () => { el.removeEventListener("keydown", press); model.off("change:index", show); };
}
export default { render };
"""


def stepper(steps: Any) -> Any:
    """steps → widget: the widget of the steps of a derivation; None where anywidget is not installed."""
    kind = _widget()
    if kind is None:
        return None
    shown = steps.some(MOST)
    frames = [frame.body() for frame in shown] or [element("p", "No step was made.")]
    titles = [frame.title for frame in shown] or ["no step"]
    return kind(shell=_shell(), frames=[str(frame) for frame in frames], titles=titles, text=steps.html())


def _shell() -> str:
    controls = [
        element("button", "◀ back", type="button", data_part="back", title="back (← or b)"),
        element("button", "next ▶", type="button", data_part="next", title="next (→ or n)"),
        element("input", type="range", min=0, value=0, step=1, data_part="slider", aria_label="step"),
    ]
    body = [
        element("p", joined(controls, " ")),
        element("p", element("b", "", data_part="label", aria_live="polite")),
        element("div", data_part="view"),
    ]
    frame = element("div", *body, tabindex=0, data_lm_suppress_shortcuts="true", aria_label="←, →, Home, End")
    return framed(frame, "A derivation, step by step")


@cache
def _widget() -> Any:
    try:
        anywidget, traitlets = importlib.import_module("anywidget"), importlib.import_module("traitlets")
    except ImportError:
        return None

    class Stepper(anywidget.AnyWidget):
        """index = 0 → the first step: the steps of a derivation; `index` is the one that is shown, counted from 0."""

        _esm = _MODULE
        shell = traitlets.Unicode().tag(sync=True)
        frames = traitlets.List(traitlets.Unicode()).tag(sync=True)
        titles = traitlets.List(traitlets.Unicode()).tag(sync=True)
        index = traitlets.Int(0).tag(sync=True)
        text = traitlets.Unicode()

        def _repr_mimebundle_(self, **options: Any) -> Any:
            # Where nothing runs, as on the web, the static form is shown.
            bundle = super()._repr_mimebundle_(**options)
            data, *rest = bundle if isinstance(bundle, tuple) else (bundle,)
            data = {**(data or {}), "text/html": self.text}
            return (data, *rest) if rest else data

    return Stepper
