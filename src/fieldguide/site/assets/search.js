/* The index: narrow it to what is typed in the search box, or to ?q= in the address. */
(function () {
  "use strict";
  var box = document.getElementById("q");
  var found = document.getElementById("found");
  var nothing = document.getElementById("nothing");
  var letters = Array.prototype.slice.call(document.querySelectorAll(".letter"));
  var alphabet = document.querySelector(".alphabet");
  if (!box || !letters.length) return;

  function plain(text) {
    return text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase()
      .replace(/[_\s-]+/g, " ").trim();
  }
  var groups = letters.map(function (letter) {
    var entries = Array.prototype.slice.call(letter.querySelectorAll(".entry"));
    return {
      letter: letter,
      entries: entries.map(function (entry) {
        return { node: entry, name: plain(entry.getAttribute("data-name")) };
      }),
    };
  });

  function narrow() {
    var parts = plain(box.value).split(" ").filter(Boolean);
    var total = 0;
    groups.forEach(function (group) {
      var shown = 0;
      group.entries.forEach(function (entry) {
        var fits = parts.every(function (part) { return entry.name.indexOf(part) >= 0; });
        entry.node.hidden = !fits;
        if (fits) shown += 1;
      });
      group.letter.hidden = shown === 0;
      total += shown;
    });
    nothing.hidden = total > 0;
    alphabet.hidden = parts.length > 0;
    found.textContent = !parts.length ? ""
      : total === 1 ? "1 entry for “" + box.value.trim() + "”."
      : total + " entries for “" + box.value.trim() + "”.";
  }

  function remember() {
    var query = box.value.trim();
    var address = location.pathname + (query ? "?q=" + encodeURIComponent(query) : "");
    try { history.replaceState(null, "", address); } catch (error) { /* a file address may refuse */ }
  }

  box.form.addEventListener("submit", function (event) {
    event.preventDefault();
    narrow();
    remember();
    var first = document.querySelector(".entry:not([hidden]) a");
    if (first) first.focus();
  });
  box.addEventListener("input", narrow);
  var asked = new URLSearchParams(location.search).get("q");
  if (asked) box.value = asked;
  narrow();
})();
