// The part of Hands, the widget in hands.py, that runs on the page. hands.js stands before it.

export default {
  // Wait until the explorer around this widget is on the page.
  render({ model, el }) {
    let stop = null;
    let frame = requestAnimationFrame(function look() {
      const root = el.closest(".c3-explorer");
      if (root) stop = c3Hands(root, (settings) => model.send(settings));
      else frame = requestAnimationFrame(look);
    });
    return () => (cancelAnimationFrame(frame), stop?.());
  },
};
