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
    if (event.key === " " && event.target.matches(".noUi-handle")) event.preventDefault(); // it would scroll
  };

  // On the way down, since a text field lets no key up.
  const leave = ({ key }) => {
    if (key === "Escape" && !root.matches(".c3-present")) root.closest(".jp-Cell")?.focus({ preventScroll: true });
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
  root.addEventListener("keydown", leave, true);
  window.addEventListener("keydown", presented, true);
  return () => {
    root.removeEventListener("keydown", inside);
    root.removeEventListener("keydown", leave, true);
    window.removeEventListener("keydown", presented, true);
  };
}

// Who cannot see the page is told what stands there: ipywidgets gives its sliders, players and groups
// of radio buttons no name, and makes new ones when the choices change. A slider over listed values
// would say its place in the list.
function tell(root, name, player) {
  const each = (selector, act) => root.querySelectorAll(selector).forEach(act);
  const put = (part, attribute, value) => part && part.getAttribute(attribute) !== value && part.setAttribute(attribute, value);
  const label = (part) => part.closest(".jupyter-widgets, .lm-Widget").querySelector(".widget-label")?.textContent ?? "";

  const look = () => {
    each(".widget-slider", (slider) => {
      const handle = slider.querySelector(".noUi-handle"), shown = slider.querySelector(".widget-readout")?.textContent;
      put(handle, "aria-label", label(slider));
      if (shown) put(handle, "aria-valuetext", shown);
    });
    each(".widget-radio-box", (box) => {
      put(box, "role", "radiogroup");
      put(box, "aria-label", label(box.parentElement));
      const group = box.querySelector("input[name]")?.name ?? `c3-${Math.random()}`; // so that arrows move the choice
      for (const button of box.querySelectorAll("input:not([name])")) button.name = group;
    });
    each(".widget-play button", (button) => {
      const icon = Object.keys(player).find((one) => button.querySelector(`.${one}`));
      if (icon) put(button, "aria-label", player[icon]);
    });
    each(".widget-toggle-button", (button) => put(button, "aria-pressed", String(button.matches(".mod-active"))));
    each("button i", (icon) => put(icon, "aria-hidden", "true"));
  };

  put(root, "role", "group");
  put(root, "aria-label", name);
  const watch = new MutationObserver(look);
  watch.observe(root, { childList: true, characterData: true, subtree: true, attributeFilter: ["class", "aria-valuetext"] });
  look();
  return () => watch.disconnect();
}

// Presented, the picture is as large as the window lets it be: first its letters, as long as what
// stands side by side stays so, then its rows; where it does not fit, it shrinks a little. While a
// slider is moved it is never enlarged again, so that it does not jump. To try a size takes a layout,
// so it halves what is left to try, and does nothing twice before the next frame is painted.
function fill(root) {
  const view = root.querySelector(".c3-view");
  const SMALL = 7, NO_LETTERS = 10, LETTERS = 17, NO_ROWS = 6, ROWS = 14; // tenths; four pixels each
  let panels = 0, size = "", letters = LETTERS, rows = ROWS, frame = 0;
  const setLetters = (tenths) => { view.style.zoom = tenths !== NO_LETTERS ? tenths / 10 : ""; };
  const setRows = (fours) => fours > NO_ROWS ? view.style.setProperty("--high", `${4 * fours}px`) : view.style.removeProperty("--high");
  const narrow = (part) => part.scrollWidth > part.clientWidth + 1;
  const lines = () => new Set([...view.querySelectorAll(".c3>:not(p)")].map((part) => Math.round(part.getBoundingClientRect().top))).size;
  const fits = () => root.scrollHeight <= root.clientHeight && ![root, ...view.querySelectorAll(".c3>:is(div,figure)")].some(narrow);

  // The highest from least to most with which it is good; least is what it gets in any case.
  const enlarge = (least, most, set, good) => {
    for (let tried = most; least < most; tried = (least + most + 1) >> 1) {
      set(tried);
      if (good()) least = tried;
      else most = tried - 1;
    }
    set(least);
    return least;
  };

  const around = [root, ...root.querySelectorAll(".c3-controls")];
  const room = () => String(around.map((part) => [part.offsetWidth, part.offsetHeight]));
  const fit = () => {
    frame = 0;
    const now = root.matches(".c3-present") ? view.querySelector(".c3")?.children.length : 0;
    setLetters(NO_LETTERS);
    setRows(NO_ROWS);
    if (now !== panels || size !== room()) [letters, rows] = [LETTERS, ROWS];
    panels = now;
    size = room();
    if (!now) return;
    if (letters < NO_LETTERS || !fits()) {
      letters = enlarge(SMALL, Math.min(letters, NO_LETTERS), setLetters, fits);
      return;
    }
    const least = lines();
    letters = enlarge(NO_LETTERS, letters, setLetters, () => fits() && lines() <= least);
    rows = enlarge(NO_ROWS, rows, setRows, fits);
  };
  const soon = () => { frame ||= requestAnimationFrame(fit); };
  const redrawn = new MutationObserver(soon), presented = new MutationObserver(soon);
  const resized = new ResizeObserver(() => root.matches(".c3-present") && size !== room() && fit());
  redrawn.observe(view, { childList: true, subtree: true });
  presented.observe(root, { attributeFilter: ["class"] });
  for (const part of around) resized.observe(part);
  return () => {
    cancelAnimationFrame(frame);
    for (const watch of [redrawn, resized, presented]) watch.disconnect();
  };
}

export default {
  // Wait until the explorer around this widget is on the page.
  render({ model, el }) {
    let stops = [];
    let frame = requestAnimationFrame(function look() {
      const root = el.closest(".c3-explorer");
      if (root) stops = [c3Hands(root, (settings) => model.send(settings)), keepKeys(root), c3Heard(root), tell(root, model.get("name"), model.get("player")), fill(root)];
      else frame = requestAnimationFrame(look);
    });
    return () => {
      cancelAnimationFrame(frame);
      for (const stop of stops) stop();
    };
  },
};
