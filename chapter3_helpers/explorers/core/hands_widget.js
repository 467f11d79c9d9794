// The part of Hands, the widget in hands.py, that runs on the page. hands.js stands before it.

// JupyterLab acts on keys: b inserts a cell, d d deletes one, an arrow selects the next. Here it
// hears of no key that is pressed inside an explorer, and of none at all while one is presented,
// since that covers the notebook. Ctrl+S still saves. Escape leaves Present, then the explorer.
function keepKeys(root) {
  root.tabIndex = -1; // a click beside the controls puts the focus into the explorer as well
  const saves = ({ key, ctrlKey, metaKey }) => key === "s" && (ctrlKey || metaKey);

  const inside = (event) => {
    if (saves(event)) return;
    event.stopPropagation();
    if (event.key === "Escape") root.closest(".jp-Cell")?.focus({ preventScroll: true });
  };

  // On the window, so that it comes first.
  const presented = (event) => {
    if (!root.matches(".c3-present") || saves(event)) return;
    if (event.key === "Escape") root.querySelector(".c3-presents").click();
    else if (!root.contains(event.target)) {
      root.focus();
      const browsers = event.ctrlKey || event.metaKey || event.altKey || /^(Tab|F\d+)$/.test(event.key);
      if (!browsers) event.preventDefault();
    } else return;
    event.stopPropagation();
  };

  root.addEventListener("keydown", inside);
  window.addEventListener("keydown", presented, true);
  return () => {
    root.removeEventListener("keydown", inside);
    window.removeEventListener("keydown", presented, true);
  };
}

// Radio buttons with one name are a group to the browser, in which the arrows move the choice.
// ipywidgets gives them none, and makes new ones when the choices change.
function nameButtons(root) {
  const name = () => {
    for (const box of root.querySelectorAll(".widget-radio-box:has(input:not([name]))")) {
      const group = `c3-${Math.random()}`;
      for (const button of box.querySelectorAll("input")) button.name = group;
    }
  };
  const watch = new MutationObserver(name);
  watch.observe(root, { childList: true, subtree: true });
  name();
  return () => watch.disconnect();
}

// A slider over listed values says its place in the list, counted from 0, to who cannot see it; here
// it says what is written beside it.
function sayValues(root) {
  const say = () => {
    for (const slider of root.querySelectorAll(".widget-slider")) {
      const shown = slider.querySelector(".widget-readout")?.textContent;
      const handle = slider.querySelector(".noUi-handle");
      if (shown && handle && handle.ariaValueText !== shown) handle.ariaValueText = shown;
    }
  };
  const watch = new MutationObserver(say);
  const attributeFilter = ["aria-valuetext"];
  watch.observe(root, { childList: true, characterData: true, subtree: true, attributeFilter });
  say();
  return () => watch.disconnect();
}

export default {
  // Wait until the explorer around this widget is on the page.
  render({ model, el }) {
    let stops = [];
    let frame = requestAnimationFrame(function look() {
      const root = el.closest(".c3-explorer");
      if (root) stops = [c3Hands(root, (settings) => model.send(settings)), keepKeys(root), nameButtons(root), sayValues(root)];
      else frame = requestAnimationFrame(look);
    });
    return () => {
      cancelAnimationFrame(frame);
      for (const stop of stops) stop();
    };
  },
};
