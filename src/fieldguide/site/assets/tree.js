/* The tree on the home page: one button that opens or shuts every branch. */
(function () {
  "use strict";
  var say = fieldguide.say;
  var head = document.querySelector(".section-head");
  var folds = Array.prototype.slice.call(document.querySelectorAll(".tree details"));
  if (!head || folds.length < 2) return;

  var button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  head.appendChild(button);

  function allOpen() {
    return folds.every(function (fold) { return fold.open; });
  }
  function label() {
    button.textContent = allOpen() ? say("Shut every branch") : say("Open every branch");
  }
  button.addEventListener("click", function () {
    var open = !allOpen();
    folds.forEach(function (fold) { fold.open = open; });
    label();
  });
  folds.forEach(function (fold) { fold.addEventListener("toggle", label); });
  label();
})();
