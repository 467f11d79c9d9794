// The part of Hands, the widget in widget.py, that runs on the page. hands.js stands before it.

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

// Presented, the picture is as large as the window lets it be: first its letters, as long as what
// stands side by side stays so, then its rows. While a slider is moved it is never enlarged again,
// so that it does not jump.
function fill(root) {
  const view = root.querySelector(".c3-view");
  let panels = 0, largest = 17, highest = 56; // tenths; pixels of a row
  const narrow = (part) => part.scrollWidth > part.clientWidth + 1;
  const lines = () => new Set([...view.querySelectorAll(".c3>:not(p)")].map((part) => Math.round(part.getBoundingClientRect().top))).size;
  const fits = () => root.scrollHeight <= root.clientHeight && ![root, ...view.querySelectorAll(".c3>:is(div,figure)")].some(narrow);
  const fit = () => {
    const now = root.matches(".c3-present") ? view.querySelector(".c3")?.children.length : 0;
    if (now !== panels) [largest, highest] = [17, 56];
    panels = now;
    view.style.zoom = "";
    view.style.removeProperty("--high");
    if (!now) return;
    const most = lines();
    for (; largest > 10; largest--) {
      view.style.zoom = largest / 10;
      if (fits() && lines() <= most) break;
      view.style.zoom = "";
    }
    for (; highest > 24; highest -= 4) {
      view.style.setProperty("--high", `${highest}px`);
      if (fits()) return;
      view.style.removeProperty("--high");
    }
  };
  const anew = () => { panels = 0; fit(); };
  const redrawn = new MutationObserver(fit), resized = new ResizeObserver(anew), presented = new MutationObserver(anew);
  redrawn.observe(view, { childList: true, subtree: true });
  presented.observe(root, { attributeFilter: ["class"] });
  resized.observe(root);
  return () => [redrawn, resized, presented].forEach((watch) => watch.disconnect());
}

export default {
  // Wait until the explorer around this widget is on the page.
  render({ model, el }) {
    let stops = [];
    let frame = requestAnimationFrame(function look() {
      const root = el.closest(".c3-explorer");
      if (root) stops = [c3Hands(root, (settings) => model.send(settings)), keepKeys(root), nameButtons(root), sayValues(root), fill(root)];
      else frame = requestAnimationFrame(look);
    });
    return () => {
      cancelAnimationFrame(frame);
      for (const stop of stops) stop();
    };
  },
};
