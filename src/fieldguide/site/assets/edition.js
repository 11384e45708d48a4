/* A page of a served guide: when the guide has been built again, offer to show it as it is now. */
(function () {
  "use strict";
  var note = document.getElementById("newer");
  if (!note || !window.fetch) return;
  var waiting = false;

  function ask() {
    if (waiting || document.hidden || !note.hidden) return;
    waiting = true;
    fetch(note.getAttribute("data-address"), { cache: "no-store" })
      .then(function (answer) { return answer.ok ? answer.json() : null; })
      .then(function (said) {
        if (said && String(said.edition) !== note.getAttribute("data-edition")) note.hidden = false;
      })
      .catch(function () { /* the server has gone: the page stays as it is */ })
      .then(function () { waiting = false; });
  }
  note.querySelector("button").addEventListener("click", function () { location.reload(); });
  document.addEventListener("visibilitychange", ask);
  window.addEventListener("focus", ask);
  window.setInterval(ask, 30000);
})();
