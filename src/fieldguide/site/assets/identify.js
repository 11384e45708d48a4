/* Identify: take a picture by drop, paste or file chooser, ask the guide, show its answer. */
(function () {
  "use strict";
  var page = document.getElementById("identify");
  if (!page) return;
  var form = document.getElementById("offer");
  var chooser = document.getElementById("image");
  var drop = document.getElementById("drop");
  var preview = document.getElementById("preview");
  var reply = document.getElementById("reply");
  var state = document.getElementById("state");
  var answer = document.getElementById("answer");
  var mostMb = Number(page.getAttribute("data-max-mb"));
  var asked = 0;
  var previewAddress = null;

  function element(name, className, text) {
    var node = document.createElement(name);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }
  function link(address, text, className) {
    var node = element("a", className, text);
    node.href = address;
    return node;
  }
  function thumbnail(item) {
    var image = element("img");
    image.src = item.thumbnail;
    image.width = item.width;
    image.height = item.height;
    image.alt = item.alt;
    return image;
  }
  function picture(item) {
    var mount = element("span", "mount");
    mount.appendChild(thumbnail(item));
    return mount;
  }
  /* A drawing as wide as its place; shapes are pairs of a name and attributes. */
  function drawing(className, height, label, shapes) {
    var space = "http://www.w3.org/2000/svg";
    function shape(name, attributes) {
      var node = document.createElementNS(space, name);
      Object.keys(attributes).forEach(function (key) { node.setAttribute(key, attributes[key]); });
      return node;
    }
    var node = shape("svg", { "class": className, width: "100%", height: height, role: "img",
      "aria-label": label });
    shapes.forEach(function (part) { node.appendChild(shape(part[0], part[1])); });
    return node;
  }
  function bar(share, label, tick) {
    var shapes = [
      ["rect", { "class": "bar-whole", y: 3.5, width: "100.0%", height: 1 }],
      ["rect", { "class": "bar-part", y: 1, width: (100 * share).toFixed(1) + "%", height: 6 }]
    ];
    if (tick !== undefined) shapes.push(["rect",
      { "class": "bar-tick", x: (99 * tick).toFixed(1) + "%", width: 2, height: 8 }]);
    return drawing("bar", 8, label, shapes);
  }

  /* A margin: a bar to the left of 0 for the minus side, to the right for the plus side. */
  function marginBar(margin, most) {
    var reach = 50 * Math.min(1, Math.abs(margin) / most);
    return drawing("margin-bar", 12, "margin " + signed(margin), [
      ["line", { "class": "margin-whole", x1: "0", x2: "100%", y1: 6, y2: 6 }],
      ["rect", { "class": "margin-part", x: (margin > 0 ? 50 : 50 - reach) + "%", y: 3,
        width: reach + "%", height: 6 }],
      ["line", { "class": "margin-zero", x1: "50%", x2: "50%", y1: 0, y2: 12 }]
    ]);
  }
  function signed(number) {
    return (number > 0 ? "+" : "−") + Math.abs(number).toFixed(2);
  }
  function kindStrip(kinds) {
    var strip = element("div", "couplet-strip");
    kinds.forEach(function (kind) {
      var go = link(kind.address, undefined);
      go.tabIndex = -1;
      go.title = kind.caption;
      go.appendChild(thumbnail(kind));
      strip.appendChild(go);
    });
    return strip;
  }
  function names(side) {
    return side.names.join(", ") + (side.more ? " and " + side.more + " more" : "");
  }
  function wayStep(step, most) {
    var item = element("li");
    var head = element("div", "way-head");
    var number = element("span", "way-number");
    if (step.address) number.appendChild(link(step.address, String(step.couplet)));
    else number.textContent = step.couplet;
    head.appendChild(number);
    var taken = step.sides[0].taken ? step.sides[0] : step.sides[1];
    head.appendChild(element("span", "way-verdict", (taken.sign === "+" ? "Plus" : "Minus")
      + " side, " + (step.close_call ? "" : step.sure + ", ") + step.percent));
    if (step.close_call) head.appendChild(element("span", "close-call", "close call"));
    item.appendChild(head);
    var sides = element("div", "way-sides");
    step.sides.forEach(function (side) {
      var half = element("div", "way-side " + (side.taken ? "taken" : "passed"));
      if (side.kinds.length) half.appendChild(kindStrip(side.kinds));
      var line = element("p");
      line.appendChild(element("span", "side-sign", side.sign));
      line.appendChild(document.createTextNode(
        side.names.length ? "like " + names(side) + " " : "no kind goes this way alone "));
      if (side.taken) line.appendChild(element("span", "taken-mark", "✓ taken"));
      half.appendChild(line);
      sides.appendChild(half);
    });
    item.appendChild(sides);
    if (step.both) {
      item.appendChild(element("p", "note", "0 both ways: " + names(step.both)));
    }
    var margin = element("div", "way-margin");
    margin.appendChild(marginBar(step.margin, most));
    margin.appendChild(element("span", "figure", "margin " + signed(step.margin)));
    item.appendChild(margin);
    return item;
  }
  function way(data) {
    var most = data.steps.reduce(function (largest, step) {
      return Math.max(largest, Math.abs(step.margin));
    }, 1);
    var list = element("ol", "way");
    data.steps.forEach(function (step) { list.appendChild(wayStep(step, most)); });
    return list;
  }

  /* The marks of the kind that the picture shows, each with what the guide saw, and their places. */
  function marks(data) {
    var part = element("div", "seen-marks");
    if (data.because) part.appendChild(element("p", "", "Because of " + data.because + "."));
    var list = element("ul", "seen-list");
    data.windows.forEach(function (mark) {
      var item = element("li", mark.shown ? "" : "absent");
      item.appendChild(thumbnail(mark));
      var text = element("div", "seen-text");
      text.appendChild(element("span", "", (mark.lacks ? "no " : "") + mark.word));
      text.appendChild(element("span", "note", mark.places));
      text.appendChild(bar(mark.vote, "vote " + mark.vote.toFixed(2) + ", in other kinds "
        + mark.elsewhere.toFixed(2), mark.elsewhere));
      text.appendChild(element("span", "note", mark.shown ? "✓ as in the kind" : "– not as in the kind"));
      item.appendChild(text);
      list.appendChild(item);
    });
    if (data.windows.length) {
      part.appendChild(list);
      part.appendChild(element("p", "note", "Bar: how strong the mark is in your picture. "
        + "Tick: in specimens of other kinds."));
    }
    if (data.heat) {
      var figure = element("figure", "seen-heat");
      figure.appendChild(thumbnail(data.heat));
      figure.appendChild(element("figcaption", "", "Where its visual words are: outlined, the tenth "
        + "of the picture where they weigh most; the rest fades as they weigh less."));
      part.appendChild(figure);
    }
    return part;
  }

  /* What speaks for the answer, outlined on the picture: dark below, light dashes above. */
  var frame = element("span", "outlined");
  var where = element("p", "note where");
  preview.parentNode.insertBefore(frame, preview);
  frame.appendChild(preview);
  frame.parentNode.insertBefore(where, frame.nextSibling);
  function clearOutline() {
    where.textContent = "";
    if (frame.lastChild !== preview) frame.removeChild(frame.lastChild);
  }
  function outline(located) {
    clearOutline();
    if (!located || !preview.naturalWidth) return;
    var drawn = drawing("outline", "100%", located.words, [
      ["path", { "class": "outline-dark", d: located.path }],
      ["path", { "class": "outline-light", d: located.path }]
    ]);
    /* A square of shares, laid over the picture as it is shown. */
    var box = preview.getBoundingClientRect();
    var scale = Math.min(box.width / preview.naturalWidth, box.height / preview.naturalHeight);
    drawn.setAttribute("viewBox", "0 0 1 1");
    drawn.setAttribute("preserveAspectRatio", "none");
    drawn.style.width = 100 * scale * preview.naturalWidth / box.width + "%";
    drawn.style.height = 100 * scale * preview.naturalHeight / box.height + "%";
    frame.appendChild(drawn);
    where.textContent = located.sentence;
  }

  function say(text, className) {
    clearOutline();
    state.textContent = text;
    state.className = className;
    state.hidden = false;
    answer.hidden = true;
  }

  function path(branch) {
    var sentence = element("nav", "crumbs");
    sentence.setAttribute("aria-label", "Where it belongs in the tree");
    var steps = element("ol");
    branch.path.forEach(function (step) {
      steps.appendChild(document.createTextNode(" "));
      var item = element("li");
      item.appendChild(link(step.address, step.words));
      steps.appendChild(item);
    });
    if (!branch.path.length) {
      var whole = element("li");
      whole.appendChild(link(branch.address, "the whole collection"));
      steps.appendChild(whole);
    }
    sentence.appendChild(steps);
    return sentence;
  }

  function show(data) {
    answer.textContent = "";
    var best = data.kinds[0];
    var title = element("h2", "answer-title");
    if (best) {
      title.appendChild(link(best.address, best.caption));
      answer.appendChild(title);
      answer.appendChild(element("p", "lede", data.sure.charAt(0).toUpperCase()
        + data.sure.slice(1) + ", " + best.percent + "."));
      var kinds = element("ol", "candidates");
      var likely = data.kinds.slice(0, 5).filter(function (kind, rank) {
        return rank < 2 || kind.probability >= 0.01;
      });
      likely.forEach(function (kind) {
        var item = element("li");
        var go = link(kind.address, undefined);
        if (kind.thumbnail) go.appendChild(picture(kind));
        go.appendChild(element("span", "kind-name", kind.caption));
        item.appendChild(go);
        item.appendChild(bar(kind.probability, kind.percent + " likely"));
        item.appendChild(element("span", "figure", kind.percent));
        kinds.appendChild(item);
      });
      answer.appendChild(kinds);
      if (data.path && data.path.group) answer.appendChild(element("p", "note", data.path.group));
      answer.appendChild(element("h3", "", "Where it belongs"));
      answer.appendChild(path(data.branch));
    } else {
      title.appendChild(link(data.branch.address, data.branch.sentence || "the whole collection"));
      answer.appendChild(title);
      answer.appendChild(element("p", "lede", data.branch.count === 1
        ? "1 specimen sits there." : data.branch.count.toLocaleString("en") + " specimens sit there."));
    }
    if (data.marks) {
      answer.appendChild(element("h3", "", "Marks of " + data.marks.kind + " in it"));
      answer.appendChild(marks(data.marks));
    }
    if (data.path) {
      answer.appendChild(element("h3", "", "The way through the key"));
      answer.appendChild(way(data.path));
      answer.appendChild(element("p", "way-end", data.path.sentence));
    }
    if (data.words.length) {
      answer.appendChild(element("h3", "", "What it shows"));
      var words = data.words.slice(0, 8).map(function (item) { return item.word; });
      answer.appendChild(element("p", "words", words.join(", ") + "."));
    }
    if (data.neighbours.length) {
      answer.appendChild(element("h3", "", "Most like it in the guide"));
      var grid = element("ol", "grid");
      data.neighbours.slice(0, 8).forEach(function (neighbour) {
        var item = element("li");
        var go = link(neighbour.address, undefined);
        go.appendChild(picture(neighbour));
        go.appendChild(element("span", "caption", neighbour.caption));
        item.appendChild(go);
        grid.appendChild(item);
      });
      answer.appendChild(grid);
    }
    outline(data.located);
    state.hidden = true;
    answer.hidden = false;
  }

  function ask(file) {
    var turn = ++asked;
    if (file.type && file.type.indexOf("image/") !== 0) {
      say("That is not a picture. Choose a JPEG, PNG, WebP or other image file.", "error");
      return;
    }
    if (file.size > mostMb * 1024 * 1024) {
      say("That picture is larger than " + mostMb + " MB. Choose a smaller one.", "error");
      return;
    }
    if (previewAddress) URL.revokeObjectURL(previewAddress);
    previewAddress = URL.createObjectURL(file);
    preview.src = previewAddress;
    preview.hidden = false;
    page.classList.add("has-picture");
    say("Looking closely …", "working");
    reply.setAttribute("aria-busy", "true");
    var body = new FormData();
    body.append("image", file, file.name || "pasted");
    fetch(form.action, { method: "POST", body: body, headers: { Accept: "application/json" } })
      .then(function (response) {
        return response.json().then(function (data) {
          if (turn !== asked) return;
          if (response.ok) show(data);
          else say(data.error.message, "error");
        });
      })
      .catch(function () {
        if (turn === asked) say("The guide does not answer. Is fieldguide serve still running?", "error");
      })
      .then(function () {
        if (turn === asked) reply.setAttribute("aria-busy", "false");
      });
  }

  page.hidden = false;
  preview.addEventListener("error", function () { preview.hidden = true; });
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  chooser.addEventListener("change", function () {
    if (chooser.files.length) ask(chooser.files[0]);
  });
  document.addEventListener("paste", function (event) {
    var files = event.clipboardData ? event.clipboardData.files : [];
    if (files.length) {
      event.preventDefault();
      ask(files[0]);
    } else if (event.target !== document.getElementById("q")) {
      say("The clipboard holds no picture. Copy one, then paste it here.", "error");
    }
  });
  ["dragenter", "dragover"].forEach(function (name) {
    document.addEventListener(name, function (event) {
      event.preventDefault();
      drop.classList.add("over-it");
    });
  });
  document.addEventListener("dragleave", function (event) {
    if (!event.relatedTarget) drop.classList.remove("over-it");
  });
  document.addEventListener("drop", function (event) {
    event.preventDefault();
    drop.classList.remove("over-it");
    var files = event.dataTransfer ? event.dataTransfer.files : [];
    if (files.length) ask(files[0]);
    else say("That was not a file. Save the picture first, then drop the file.", "error");
  });
})();
