// What the picture of an explorer answers to pointing, clicks and keys.
//
// The picture says itself what it is made of. marks.py has the list of these names:
//
// name          on                    what it holds
// data-q        cells, rows, labels   the number of the query that it stands for
// data-k        cells, rows, labels   the number of the key
// data-r        cells, rows, labels   the number of a row of parameters, or of a listed head
// data-c        cells, labels         the number of a column of parameters
// data-strip    parts of a diagram    its name
// data-click    what is around them   the settings that a click changes: {"q": "row", "show": "one number"}
//                                     sets row to the number of the query, and show to what stands there
// data-stop     labels                Tab stops once at all that have the same one, the arrows walk on
// data-drag     heads of arrows       see below
// data-board    pictures of pixels    {"down": ["row", 0, 300, 7]}: the setting that says which row is framed,
//                                     its first value, how many there are, where the frame stands
// data-cells    pictures of weights   {"q": [0, ["0 the", "1 cat"]], ...}: the first query, and the names
// data-hint     .c3read               what it says until a weight is pointed at
// data-hidden   .c3read               what it says of a weight that is hidden
//
// A cell has the numbers of the row and the column that it stands in. What moves with the head of an arrow:
//
// reach         how far the plane goes from its middle      step      of that length
// length        the setting that is the arrow's length      at        how many degrees it is turned
// from          that length                                 turns     {"angle": [60, 1]} adds to 60 what it turns
// longest       the longest that it may be                  name      of the arrow
//
// The script writes: data-hands on the explorer to which it listens; data-at-q and so on, on what is pointed
// at, wherever it stands; data-pointed-q and so on, on the explorer in which something is.
//
// A page of the book loads this file as it is; hands_widget.js follows it in a notebook.

// Listen to one explorer; change(settings) is called with what a click changes, and returns false
// where nothing does.
function c3Hands(root, change) {
  const SIDES = ["q", "k", "r", "c", "strip"], DRAWING = "table, svg, p";
  let hovered = null; // what the mouse is over: the numbers, or in a picture of weights how far across and down
  let read = {}; // the last picture whose weights were read
  let resting = false; // the keyboard points: a picture that changes under the mouse is no pointing
  let focused = null; // where the keyboard is: which drawing, which stop in it, which of its labels

  // The query, the key and the strip that an element stands for, if any.
  function meant(element) {
    const found = {};
    for (const side of SIDES) {
      const number = element?.closest(`[data-${side}]`)?.dataset[side];
      if (number !== undefined) found[side] = number;
    }
    return found;
  }

  // What a pixel of a picture of weights stands for.
  function pixel({ across, down }) {
    const board = root.querySelector("[data-cells]");
    if (!board) return {};
    const { q, k } = JSON.parse(board.dataset.cells);
    const [i, j] = [[q, down], [k, across]].map(([[, names], share]) => Math.min(names.length - 1, Math.floor(share * names.length)));
    const level = levels(board.closest("svg").querySelector("image").getAttribute("href"))?.[i * (k[1].length + 1) + 1 + j];
    const weight = level > 100 ? `: ${root.querySelector(".c3read")?.dataset.hidden}` : level >= 0 ? `: ${(level / 100).toFixed(2)}` : "";
    const apart = (name) => `\u2068${name}\u2069`; // or a name in Hebrew would turn the arrow's ends
    return { q: q[0] + i, k: k[0] + j, said: `${apart(q[1][i])} → ${apart(k[1][j])}${weight}` };
  }

  // The pixels of a PNG: a byte each, and one before each row. They are weights in hundredths, and not
  // read from a canvas, which a browser may falsify lest it tells who it is.
  function levels(address) {
    if (read.address === address) return read.levels;
    const now = (read = { address }), parts = [];
    const bytes = Uint8Array.from(atob(address.split(",")[1]), (letter) => letter.charCodeAt(0)), view = new DataView(bytes.buffer);
    for (let at = 8, size; at < bytes.length; at += size + 12) {
      size = view.getUint32(at);
      if (view.getUint32(at + 4) === 0x49444154) parts.push(bytes.subarray(at + 8, at + 8 + size)); // IDAT
    }
    const stream = new Blob(parts).stream().pipeThrough(new DecompressionStream("deflate"));
    new Response(stream).arrayBuffer().then((unpacked) => { now.levels = new Uint8Array(unpacked); mark(); });
  }

  // Mark what is pointed at, wherever it stands.
  function mark() {
    const held = root.querySelector(":focus-visible"); // not what a click has left the focus on
    const at = hovered && "across" in hovered ? pixel(hovered) : hovered ?? meant(held);
    for (const place of root.querySelectorAll(".c3read")) {
      const said = at.said ?? place.dataset.hint;
      if (place.textContent !== said) place.textContent = said; // or this would be a new picture
    }
    for (const side of SIDES) {
      root.toggleAttribute(`data-pointed-${side}`, side in at);
      for (const thing of root.querySelectorAll(`[data-at-${side}]`)) thing.removeAttribute(`data-at-${side}`);
      if (!(side in at)) continue;
      for (const thing of root.querySelectorAll(`[data-${side}="${at[side]}"]`)) thing.setAttribute(`data-at-${side}`, "");
    }
  }

  function click(element) {
    const place = element.closest("[data-click]");
    if (!place || element.closest(".c3-stale")) return;
    const settings = JSON.parse(place.dataset.click), at = meant(element);
    let hit = !SIDES.some((side) => side in settings); // or it was a title, say
    for (const side of SIDES) {
      const name = settings[side];
      delete settings[side];
      if (!name || !(side in at)) continue;
      settings[name] = side === "strip" ? at.strip : Number(at[side]);
      hit = true;
    }
    if (!hit) return;
    goOnFrom(labelOf(element, at));
    change(settings);
  }

  // From here the arrow keys go on, also where a window without the focus tells nobody of it.
  function goOnFrom(label) {
    if (!label) return;
    label.focus({ preventScroll: true });
    focus({ target: label });
  }

  function onBoard(board, find) {
    const settings = {};
    for (const [side, [name, first, count, at]] of Object.entries(JSON.parse(board.dataset.board)))
      settings[name] = first + Math.max(0, Math.min(count - 1, Math.floor(find(side, count, at))));
    change(settings);
  }

  function clickBoard({ target, clientX, clientY }) {
    const board = target.closest("[data-board]");
    if (!board || board.closest(".c3-stale")) return;
    const { left, top, width, height } = board.getBoundingClientRect();
    goOnFrom(board);
    onBoard(board, (side, count) => (side === "down" ? (clientY - top) / height : (clientX - left) / width) * count);
  }

  // The label to which something in a drawing belongs: for a cell that of its row.
  function labelOf(element, at) {
    const all = [...(element.closest(DRAWING)?.querySelectorAll("[data-stop]") ?? [])];
    const belongs = SIDES.map((side) => all.find((label) => side in at && meant(label)[side] === at[side]));
    return element.closest("[data-stop]") ?? belongs.find(Boolean);
  }

  // All labels that share a stop of the Tab key.
  const drawings = () => [...root.querySelectorAll(`:is(${DRAWING}):has([data-stop])`)];
  const labels = (drawing, stop) => [...(drawing?.querySelectorAll(`[data-stop="${stop}"]`) ?? [])];

  // Where the head of an arrow is, and what it means that it is moved to x, y, in the plane's units.
  function headOf(grip) {
    const drag = JSON.parse(grip.dataset.drag), plane = grip.parentElement.querySelector("rect").getBoundingClientRect();
    const unit = plane.width / (2 * drag.reach), tip = grip.getBoundingClientRect();
    const [left, top] = [plane.left + plane.width / 2, plane.top + plane.height / 2];
    const at = (x, y) => [(x - left) / unit, (top - y) / unit];
    return { drag, at, tip: at(tip.left + tip.width / 2, tip.top + tip.height / 2) };
  }

  function moved({ drag }, x, y) {
    const length = Math.round(Math.min(drag.longest, Math.hypot(x, y)) / drag.step) * drag.step;
    const settings = { [drag.length]: Number(length.toFixed(6)) };
    const turned = Math.round((Math.atan2(y, x) * 180) / Math.PI) - drag.at;
    for (const [name, [from, sign]] of Object.entries(length ? drag.turns : {}))
      settings[name] = ((((from + sign * turned + 179) % 360) + 360) % 360) - 179; // -179 to 180
    return settings;
  }

  // While something is dragged, a change waits for the picture of the one before.
  let waiting = 0, next = null, sent = "";
  function send(settings) {
    if (waiting) return void (next = settings);
    if (JSON.stringify(settings) === sent) return;
    sent = JSON.stringify(settings);
    waiting = setTimeout(answered, 200);
    change(settings);
  }
  function answered() {
    clearTimeout(waiting);
    const settings = next;
    [waiting, next] = [0, null];
    if (settings) send(settings);
  }

  let dragged = null; // the stop of the head that is held, and how far from its tip
  const gripOf = (stop) => root.querySelector(`[data-drag][data-stop="${stop}"]`);
  function hold(event) {
    const grip = event.target.closest("[data-drag]");
    if (!grip || event.button) return;
    event.preventDefault(); // nothing is selected
    grip.focus({ preventScroll: true });
    const { at, tip } = headOf(grip), [x, y] = at(event.clientX, event.clientY);
    dragged = { stop: grip.dataset.stop, off: [x - tip[0], y - tip[1]] };
    sent = "";
    root.setPointerCapture(event.pointerId);
  }
  function drag(event) {
    const grip = dragged && gripOf(dragged.stop);
    if (!grip) return;
    const head = headOf(grip), [x, y] = head.at(event.clientX, event.clientY);
    send(moved(head, x - dragged.off[0], y - dragged.off[1]));
  }
  const letGo = () => (dragged = null);

  const MOVES = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
  const STEPS = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  function key(event) {
    const label = event.target.closest("[data-stop]");
    if (!label || event.ctrlKey || event.altKey || event.metaKey) return;
    focus({ target: label });
    if (event.key === " ") event.preventDefault(); // it would scroll
    if (label.dataset.drag) {
      const by = MOVES[event.key], head = headOf(label), { step, from, at } = head.drag;
      if (!by) return;
      const [x, y] = [from * Math.cos((at * Math.PI) / 180), from * Math.sin((at * Math.PI) / 180)];
      // where the next step is not on offer, a larger one
      for (let far = step; far < 2; far += step) if (change(moved(head, x + far * by[0], y + far * by[1])) !== false) break;
    } else if (label.dataset.board && event.key in STEPS) {
      const across = /Left|Right|Home|End/.test(event.key);
      onBoard(label, (side, count, at) => at + (across === (side === "across") ? STEPS[event.key] : 0));
    } else if (event.key === "Enter" || event.key === " ") click(label);
    else if (event.key in STEPS) {
      const all = labels(label.closest(DRAWING), label.dataset.stop);
      const next = all.indexOf(label) + STEPS[event.key];
      hovered = null;
      resting = true;
      all[Math.max(0, Math.min(next, all.length - 1))].focus();
    } else return;
    event.preventDefault();
  }

  // The focus may be gone since its label is: then redrawn puts it back.
  const blur = ({ target }) => setTimeout(() => {
    if (target.isConnected && !root.contains(document.activeElement)) focused = null;
    mark();
  });

  function focus({ target }) {
    const { stop } = target.dataset, drawing = target.closest(DRAWING), all = labels(drawing, stop);
    focused = stop ? { drawing: drawings().indexOf(drawing), stop, n: all.indexOf(target) } : null;
    for (const label of all) label.setAttribute("tabindex", label === target ? 0 : -1);
    mark();
  }

  // A new picture has lost the marks, and the focus if it was in the old one.
  function redrawn() {
    if (waiting) answered();
    if (focused && document.activeElement === document.body) {
      const all = [drawings()[focused.drawing], ...drawings()].map((one) => labels(one, focused.stop)).find((found) => found.length);
      (all?.[Math.min(focused.n, all.length - 1)] ?? root).focus({ preventScroll: true });
    }
    mark();
  }

  function point({ target, clientX, clientY }) {
    const { left, top, width, height } = target.getBoundingClientRect(), found = meant(target);
    if ("cells" in target.dataset) hovered = { across: (clientX - left) / width, down: (clientY - top) / height };
    else hovered = Object.keys(found).length ? found : null;
    mark();
  }
  const listeners = {
    mouseover: (event) => resting || point(event),
    mousemove: (event) => {
      if (resting ? !(event.movementX || event.movementY) : !("cells" in event.target.dataset)) return;
      resting = false;
      point(event);
    },
    mouseleave: () => { hovered = null; mark(); },
    click: (event) => (clickBoard(event), click(event.target)),
    pointerdown: hold,
    pointermove: drag,
    pointerup: letGo,
    pointercancel: letGo,
    keydown: key,
    focusin: focus,
    focusout: blur,
  };
  for (const [name, listener] of Object.entries(listeners)) root.addEventListener(name, listener);
  const watch = new MutationObserver(redrawn);
  watch.observe(root, { childList: true, subtree: true });
  root.dataset.hands = "";
  return () => {
    for (const [name, listener] of Object.entries(listeners)) root.removeEventListener(name, listener);
    watch.disconnect();
  };
}

// The sentence above the picture is read out, once it has stopped changing.
function c3Heard(root) {
  const said = () => root.querySelector(".c3-view .c3:not(.c3-stale) > p")?.textContent ?? "";
  const heard = document.createTextNode(said()), status = document.createElement("div");
  let waiting = 0;
  const look = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (heard.data !== said()) heard.data = said(); // no new element, which would be a new picture
    }, 400);
  };
  status.className = "c3-heard";
  status.setAttribute("role", "status");
  status.append(heard);
  root.append(status);
  const watch = new MutationObserver(look);
  watch.observe(root, { childList: true, subtree: true });
  return () => {
    watch.disconnect();
    clearTimeout(waiting);
    status.remove();
  };
}
