/* The walk by hand. The table and its numbers come with the page; belief and gains are those of
   belief.py. The answers stand in the fragment of the address, so that a walk can be kept. */
(function () {
  "use strict";
  var say = fieldguide.say, sayCount = fieldguide.sayCount;
  var page = document.getElementById("walk");
  if (!page) return;
  var table = JSON.parse(document.getElementById("walk-table").textContent);
  var nCharacters = table.characters.length;
  var questions = table.characters.concat(table.couplets);
  var nKinds = table.kinds.length;
  var MOST_KINDS = 24, N_SIDE = 6, MIDDLE = (table.letters.length - 1) / 2;
  var SAID = { y: true, n: false, u: null };
  var levels = questions.map(function (question) {
    return Array.from(question.levels, function (letter) { return table.letters.indexOf(letter); });
  });
  var yes = levels.map(function (row) {
    return row.map(function (level) {
      var share = (level + 0.5) / table.letters.length;
      return (1 - table.wrong) * share + table.wrong * (1 - share);
    });
  });
  var entropies = yes.map(function (row) { return row.map(entropy); });

  /* The state: answers by question, in the order given; earlier ones to go back to. */
  var answers = new Map(), before = [], prior = [], seen = "", start = "";
  var asked = null, chosen = null, goesOn = false;

  function byId(id) { return document.getElementById(id); }
  function make(name, className, text) {
    var node = document.createElement(name);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }
  function percent(p) {
    var whole = Math.round(100 * p);
    if (whole === 0 && p > 0) return say("<1%%");
    return whole === 100 && p < 1 ? say(">99%%") : say("%(number)s%%", { number: whole });
  }
  function capital(text) { return text.charAt(0).toUpperCase() + text.slice(1); }

  /* Mathematics. */
  function entropy(p) {
    return -(p * Math.log2(p) + (1 - p) * Math.log2(1 - p));
  }
  function believe() {
    var logs = prior.map(Math.log);
    Array.from(answers.keys()).sort(function (a, b) { return a - b; }).forEach(function (j) {
      if (answers.get(j) === null) return;
      yes[j].forEach(function (p, k) { logs[k] += Math.log(answers.get(j) ? p : 1 - p); });
    });
    var most = Math.max.apply(null, logs);
    var weights = logs.map(function (log) { return Math.exp(log - most); });
    var sum = weights.reduce(function (a, b) { return a + b; }, 0);
    return weights.map(function (weight) { return weight / sum; });
  }
  function gain(j, belief) {
    var chance = 0, left = 0;
    for (var k = 0; k < nKinds; k += 1) {
      chance += belief[k] * yes[j][k];
      left += belief[k] * entropies[j][k];
    }
    return entropy(chance) - left;
  }
  /* As temper() of walking.py. */
  function temper(said) {
    var named = table.kinds.filter(function (kind) { return said.has(kind.name); });
    var sum = named.reduce(function (a, kind) { return a + said.get(kind.name); }, 0);
    var left = Math.max(1 - sum, 0) / Math.max(nKinds - named.length, 1);
    var powers = table.kinds.map(function (kind) {
      return Math.pow(said.has(kind.name) ? said.get(kind.name) : left, table.temper);
    });
    var mean = powers.reduce(function (a, b) { return a + b; }, 0) / nKinds;
    return powers.map(function (p) { return p / mean + table.leastPrior; });
  }

  /* What to ask. */
  function byCouplets() {
    var chosenWay = document.querySelector("input[name=by]:checked");
    return chosenWay ? chosenWay.value === "couplets" : nCharacters === 0;
  }
  /* The larger gain first; of those that are equal but for rounding, the first question. */
  function byGain(gains) {
    var size = Math.pow(10, table.sameDigits);
    var whole = gains.map(function (gain) { return Math.round(gain * size); });
    return function (a, b) { return whole[b] - whole[a] || a - b; };
  }
  function listBest(gains) {
    var from = byCouplets() ? nCharacters : 0;
    var to = byCouplets() ? questions.length : nCharacters;
    var best = [];
    for (var j = from; j < to; j += 1) {
      if (!answers.has(j) && gains[j] >= table.leastGain) best.push(j);
    }
    return best.sort(byGain(gains));
  }
  function weigh(j, isPlus, belief) {
    return belief.reduce(function (sum, p, k) {
      var off = levels[j][k] - MIDDLE;
      return (isPlus ? off > 0 : off < 0) ? sum + p : sum;
    }, 0);
  }
  function nextCouplet(belief) {
    var number = table.couplets.length ? 1 : null;
    while (number !== null && answers.has(nCharacters + number - 1)) {
      var j = nCharacters + number - 1, said = answers.get(j);
      if (said === null) said = weigh(j, true, belief) > weigh(j, false, belief);
      number = said ? questions[j].toPlus : questions[j].toMinus;
    }
    return number !== null && number <= table.couplets.length ? nCharacters + number - 1 : null;
  }

  /* Names and answers in words. */
  function isCouplet(j) { return j >= nCharacters; }
  function nameQuestion(j) {
    return isCouplet(j) ? say("couplet %(number)s", { number: j - nCharacters + 1 })
      : questions[j].text;
  }
  function nameAnswer(j, said) {
    if (said === null) return say("cannot tell");
    if (isCouplet(j)) return said ? say("second side") : say("first side");
    return said ? say("yes") : say("no");
  }

  /* The address. */
  function write() {
    var said = Array.from(answers, function (each) {
      return each[0] + (each[1] === null ? "u" : each[1] ? "y" : "n");
    }).join(".");
    var parts = [];
    if (start) parts.push("start=" + start, "seen=" + seen);
    if (said) parts.push("said=" + said);
    try {
      history.replaceState(null, "", location.pathname + location.search + "#" + parts.join("&"));
    } catch (error) { /* a file address may refuse */ }
  }
  function read() {
    var parts = {};
    location.hash.slice(1).split("&").forEach(function (part) {
      parts[part.split("=")[0]] = part.slice(part.indexOf("=") + 1);
    });
    start = parts.start || "";
    seen = parts.seen && parts.seen.length === nCharacters ? parts.seen : "";
    var said = new Map();
    start.split(",").forEach(function (pair) {
      var p = Number(pair.split(":")[1]);
      if (p >= 0 && p <= 1) said.set(decode(pair.split(":")[0]), p);
    });
    prior = said.size ? temper(said) : table.kinds.map(function () { return 1; });
    answers = new Map();
    before = [];
    chosen = null;
    goesOn = false;
    (parts.said || "").split(".").forEach(function (text) {
      var found = /^(\d{1,6})([ynu])$/.exec(text);
      if (found && Number(found[1]) < questions.length) answers.set(Number(found[1]), SAID[found[2]]);
    });
  }
  function decode(text) {
    try { return decodeURIComponent(text); } catch (error) { return text; }
  }

  /* What is shown. */
  var kindNodes = [];
  function bar(p, label) {
    var space = "http://www.w3.org/2000/svg";
    var svg = document.createElementNS(space, "svg");
    svg.setAttribute("class", "bar");
    svg.setAttribute("width", "100%");
    svg.setAttribute("height", "8");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
    [["bar-whole", "3.5", "1", 1], ["bar-part", "1", "6", p]].forEach(function (each) {
      var rect = document.createElementNS(space, "rect");
      rect.setAttribute("class", each[0]);
      rect.setAttribute("y", each[1]);
      rect.setAttribute("height", each[2]);
      rect.setAttribute("width", (100 * each[3]).toFixed(1) + "%");
      svg.appendChild(rect);
    });
    return svg;
  }
  function picture(kind, alt) {
    var image = make("img");
    image.loading = "lazy";
    image.decoding = "async";
    image.width = kind.width;
    image.height = kind.height;
    image.alt = alt;
    image.src = kind.picture;
    return image;
  }
  function kindNode(k) {
    if (kindNodes[k]) return kindNodes[k];
    var kind = table.kinds[k], node = make("li"), link = make("a"), mount = make("span", "mount");
    link.href = kind.address;
    if (kind.picture) {
      mount.appendChild(picture(kind, ""));
      link.appendChild(mount);
    }
    link.appendChild(make("span", "kind-name", kind.shown));
    node.appendChild(link);
    kindNodes[k] = node;
    return node;
  }
  function showKinds(belief, order) {
    var held = 0, nLeft = 0;
    while (nLeft < nKinds && held < table.held) held += belief[order[nLeft++]];
    var shown = order.slice(0, Math.min(MOST_KINDS, nKinds));
    byId("kinds").replaceChildren.apply(byId("kinds"), shown.map(function (k) {
      var node = kindNode(k), p = belief[k];
      Array.from(node.children).slice(1).forEach(function (child) { child.remove(); });
      node.dataset.kind = table.kinds[k].name;
      node.dataset.probability = String(p);
      node.appendChild(bar(p, say("%(share)s likely", { share: percent(p) })));
      node.appendChild(make("span", "figure", percent(p)));
      return node;
    }));
    var rest = order.slice(shown.length).reduce(function (sum, k) { return sum + belief[k]; }, 0);
    byId("others").textContent = nKinds > shown.length
      ? sayCount("The other one has %(share)s.", "The other %(n)s share %(share)s.",
        nKinds - shown.length, { share: percent(rest) }) : "";
    byId("n-left").textContent = !answers.size && !start ? ""
      : nLeft === 1 ? say("One holds nearly all of the likelihood.")
      : say("%(n)s of %(all)s hold nearly all of the likelihood.", { n: nLeft, all: nKinds });
    return nLeft;
  }
  function showSides(j, order) {
    var sides = byId("sides");
    sides.hidden = !(j !== null && isCouplet(j));
    sides.replaceChildren();
    if (sides.hidden) return;
    [false, true].forEach(function (isPlus) {
      var side = make("div", "walk-side"), strip = make("p", "strip");
      var own = order.filter(function (k) {
        var off = levels[j][k] - MIDDLE;
        return isPlus ? off > 0 : off < 0;
      });
      own.slice(0, N_SIDE).forEach(function (k) {
        if (table.kinds[k].picture) strip.appendChild(picture(table.kinds[k], table.kinds[k].shown));
      });
      var names = own.slice(0, 5).map(function (k) { return table.kinds[k].shown; });
      if (own.length > 5) names.push(sayCount("%(n)s more", "%(n)s more", own.length - 5));
      var words = questions[j][isPlus ? "plus" : "minus"];
      side.appendChild(strip);
      if (words) side.appendChild(make("p", "walk-words", capital(words)));
      side.appendChild(make("p", "note", names.length
        ? say("Like %(names)s", { names: names.join(", ") }) : say("No kind")));
      sides.appendChild(side);
    });
  }
  function showQuestion(belief, order, nLeft) {
    var first = table.kinds[order[0]], isEnd = false, hint = "", title;
    if (chosen === null && !goesOn && belief[order[0]] >= table.enough) {
      isEnd = true;
      title = capital(first.shown);
      hint = say("Most likely, with a probability of %(share)s.",
        { share: percent(belief[order[0]]) });
      asked = null;
    } else if (asked === null) {
      title = say("Nothing is left to ask that would tell more");
      hint = nLeft === 1 ? say("Most likely it is %(kind)s.", { kind: first.shown })
        : sayCount("%(n)s kind remains that these questions do not tell apart.",
          "%(n)s kinds remain that these questions do not tell apart.", nLeft);
    } else if (isCouplet(asked)) {
      title = say("Which of the two is it more like?");
    } else {
      title = say("%(character)s?", { character: capital(questions[asked].text) });
      if (seen) {
        hint = seen[asked] === "y" ? say("The machine sees it in the picture.")
          : say("The machine does not see it in the picture.");
      }
    }
    var isAsking = asked !== null;
    byId("turn").textContent = isAsking
      ? say("Question %(number)s", { number: answers.size + (answers.has(asked) ? 0 : 1) })
        + (isCouplet(asked) ? ", " + nameQuestion(asked) : "")
      : sayCount("After %(n)s answer", "After %(n)s answers", answers.size);
    byId("asked").textContent = title;
    byId("hint").textContent = hint;
    byId("yes").textContent = isAsking && isCouplet(asked) ? say("The first") : say("Yes");
    byId("no").textContent = isAsking && isCouplet(asked) ? say("The second") : say("No");
    ["yes", "no", "unsure"].forEach(function (id) { byId(id).hidden = !isAsking; });
    byId("go-on").hidden = !isEnd;
    byId("undo").disabled = !before.length;
    showSides(asked, order);
    byId("told").textContent = title + " " + hint + " "
      + say("Likeliest: %(kinds)s.", { kinds: order.slice(0, 3).map(function (k) {
        return table.kinds[k].shown + " " + percent(belief[k]);
      }).join(", ") });
  }
  function showSaid() {
    byId("nothing-said").hidden = answers.size > 0;
    byId("restart").hidden = !(answers.size || start);
    byId("said").replaceChildren.apply(byId("said"), Array.from(answers, function (each) {
      var j = each[0], node = make("li"), label = make("label", "", capital(nameQuestion(j)));
      var choice = make("select");
      label.htmlFor = choice.id = "said-" + j;
      [true, false, null, undefined].forEach(function (said) {
        var option = make("option", "", said === undefined ? say("forget") : nameAnswer(j, said));
        option.value = String(said);
        option.selected = said === each[1];
        choice.appendChild(option);
      });
      choice.addEventListener("change", function () {
        change(j, { true: true, false: false, null: null }[choice.value]);
        (byId(choice.id) || byId("asked")).focus();
      });
      node.appendChild(label);
      node.appendChild(choice);
      return node;
    }));
  }
  function showChoices(gains) {
    if (!byId("all").open) return;
    var wanted = byId("narrow").value.trim().toLowerCase(), before = byGain(gains);
    var listed = questions.map(function (_, j) { return j; }).filter(function (j) {
      return nameQuestion(j).toLowerCase().indexOf(wanted) >= 0;
    }).sort(function (a, b) {
      return answers.has(a) - answers.has(b) || before(a, b);
    });
    byId("no-choice").hidden = listed.length > 0;
    byId("choices").replaceChildren.apply(byId("choices"), listed.map(function (j) {
      var node = make("li"), button = make("button", "quiet", capital(nameQuestion(j)));
      var state = answers.has(j) ? nameAnswer(j, answers.get(j))
        : gains[j] >= table.leastGain ? "" : say("tells little");
      button.type = "button";
      button.addEventListener("click", function () {
        chosen = j;
        show();
        byId("asked").focus();
      });
      node.appendChild(button);
      if (state) node.appendChild(make("span", "count", state));
      else node.appendChild(bar(Math.min(gains[j], 1), say("%(n)s bits expected", { n: fieldguide.write(gains[j], 2) })));
      return node;
    }));
  }
  function show() {
    var belief = believe();
    var order = belief.map(function (_, k) { return k; });
    order.sort(function (a, b) { return belief[b] - belief[a] || a - b; });
    var gains = questions.map(function (_, j) { return gain(j, belief); });
    asked = chosen !== null ? chosen : byCouplets() ? nextCouplet(belief) : null;
    if (asked === null) asked = listBest(gains)[0];
    if (asked === undefined) asked = null;
    showQuestion(belief, order, showKinds(belief, order));
    showSaid();
    showChoices(gains);
  }

  /* What a person does. */
  function change(j, said) {
    before.push(new Map(answers));
    if (said === undefined) answers.delete(j);
    else answers.set(j, said);
    chosen = null;
    write();
    show();
  }
  function answer(said) {
    if (asked !== null) change(asked, said);
    if (byId("yes").hidden) (byId("go-on").hidden ? byId("asked") : byId("go-on")).focus();
  }
  byId("yes").addEventListener("click", function () { answer(!isCouplet(asked)); });
  byId("no").addEventListener("click", function () { answer(isCouplet(asked)); });
  byId("unsure").addEventListener("click", function () { answer(null); });
  byId("go-on").addEventListener("click", function () {
    goesOn = true;
    show();
    byId("asked").focus();
  });
  byId("undo").addEventListener("click", function () {
    if (!before.length) return;
    answers = before.pop();
    chosen = null;
    goesOn = false;
    write();
    show();
    if (byId("undo").disabled) byId("asked").focus();
  });
  byId("restart").addEventListener("click", function () {
    start = "";
    write();
    location.hash = "";
    read();
    show();
    byId("asked").focus();
  });
  byId("all").addEventListener("toggle", show);
  byId("narrow").addEventListener("input", show);
  Array.from(document.querySelectorAll("input[name=by]")).forEach(function (way) {
    way.addEventListener("change", function () { chosen = null; show(); });
  });
  window.addEventListener("hashchange", function () { read(); show(); });
  read();
  byId("unscripted").hidden = true;
  page.hidden = false;
  show();
})();
