/* The index: narrow it to what is typed in the search box, or to ?q= in the address. Behind the
   server, Enter asks the guide for specimens; in an export, it goes to the first entry. */
(function () {
  "use strict";
  var say = fieldguide.say, sayCount = fieldguide.sayCount;
  var box = document.getElementById("q");
  var found = document.getElementById("found");
  var nothing = document.getElementById("nothing");
  var sections = Array.prototype.slice.call(document.querySelectorAll(".index-section"));
  var alphabet = document.querySelector(".alphabet");
  if (!box || !sections.length) return;
  var isLive = box.form.hasAttribute("data-live");

  function plain(text) {
    return text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase()
      .replace(/[_\s-]+/g, " ").trim();
  }
  function list(node, selector) {
    return Array.prototype.slice.call(node.querySelectorAll(selector));
  }
  var entries = list(document, ".entry").map(function (entry) {
    var name = plain(entry.getAttribute("data-name"));
    return { node: entry, name: name, words: name.split(/[^a-z0-9\u0080-\uffff]+/) };
  });

  /* As in the guide's own search: letters put in, left out, replaced, or two neighbours swapped. */
  function slips(a, b) {
    var before = [], last = [], i, j;
    for (j = 0; j <= b.length; j += 1) last.push(j);
    for (i = 1; i <= a.length; i += 1) {
      var row = [i];
      for (j = 1; j <= b.length; j += 1) {
        row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] !== b[j - 1]));
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
          row[j] = Math.min(row[j], before[j - 2] + 1);
        }
      }
      before = last;
      last = row;
    }
    return last[b.length];
  }
  function isNear(part, entry) {
    var most = part.length < 4 ? 0 : part.length < 8 ? 1 : 2;
    return most > 0 && [entry.name].concat(entry.words).some(function (word) {
      return Math.abs(word.length - part.length) <= most && slips(part, word) <= most;
    });
  }
  function singular(part) {
    return part.length < 4 ? part : part.replace(/ies$/, "y").replace(/([^su])s$/, "$1");
  }

  /* Commas part terms, and an entry of any of them is shown; plurals and slips where none is. */
  function choose(term) {
    var parts = term.split(" ").filter(Boolean);
    function every(fits) {
      return entries.filter(function (entry) {
        return parts.every(function (part) { return fits(part, entry); });
      });
    }
    var chosen = every(function (part, entry) { return entry.name.indexOf(part) >= 0; });
    if (!chosen.length) {
      chosen = every(function (part, entry) { return entry.name.indexOf(singular(part)) >= 0; });
    }
    return chosen.length ? chosen : every(isNear);
  }

  function narrow() {
    var terms = box.value.split(/[,;]/).map(plain).filter(Boolean);
    var shown = terms.length ? [] : entries;
    terms.forEach(function (term) { shown = shown.concat(choose(term)); });
    entries.forEach(function (entry) { entry.node.hidden = shown.indexOf(entry) < 0; });
    sections.forEach(function (section) {
      var groups = list(section, ".letter");
      groups.forEach(function (group) {
        group.hidden = !group.querySelector(".entry:not([hidden])");
      });
      section.hidden = groups.every(function (group) { return group.hidden; });
    });
    var total = list(document, ".entry:not([hidden])").length;
    nothing.hidden = total > 0;
    alphabet.hidden = terms.length > 0;
    found.textContent = !terms.length ? ""
      : sayCount("%(n)s entry for “%(query)s”.", "%(n)s entries for “%(query)s”.", total,
        { query: box.value.trim() })
        + (isLive ? " " + say("Press Enter to find specimens.") : "");
  }

  function remember() {
    var query = box.value.trim();
    var address = location.pathname + (query ? "?q=" + encodeURIComponent(query) : "");
    try { history.replaceState(null, "", address); } catch (error) { /* a file address may refuse */ }
  }

  box.form.addEventListener("submit", function (event) {
    if (isLive) return;
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
