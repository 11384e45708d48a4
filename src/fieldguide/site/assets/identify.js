/* Identify: take pictures by drop, paste or file chooser, send them, insert the guide's answers. */
(function () {
  "use strict";
  var say = fieldguide.say, sayCount = fieldguide.sayCount;
  var page = document.getElementById("identify");
  if (!page) return;
  var form = page.querySelector("form");
  var chooser = document.getElementById("image");
  var drop = document.getElementById("drop");
  var reply = document.getElementById("reply");
  var mostMb = Number(page.getAttribute("data-max-mb"));
  var asked = 0;
  var address = null;

  function tell(text, className) {
    var line = document.createElement("p");
    line.className = className;
    line.textContent = text;
    document.getElementById("answer").replaceChildren(line);
    reply.setAttribute("aria-busy", String(className === "working"));
  }

  function show(file) {
    var image = new Image();
    if (address) URL.revokeObjectURL(address);
    address = file && URL.createObjectURL(file);
    image.alt = say("The picture you chose");
    image.addEventListener("error", function () { image.remove(); });
    document.getElementById("shown").replaceChildren();
    if (file && file.type.indexOf("video/") !== 0) {  // of a clip, the answer has a frame
      image.src = address;
      document.getElementById("shown").append(image);
    }
    page.classList.toggle("has-picture", Boolean(file));
  }

  function refuse(text) {
    asked += 1;
    show(null);
    tell(text, "error");
  }

  /* The answer is two elements that take the place of those with the same ids. */
  function insert(html) {
    var parts = new DOMParser().parseFromString(html, "text/html").body.children;
    Array.from(parts).forEach(function (part) {
      document.getElementById(part.id).replaceWith(part);
    });
    reply.setAttribute("aria-busy", "false");
    document.querySelector(".answer-title").focus();
  }

  /* What is wrong with a file before it is sent; "" for a picture. */
  function fault(file) {
    if (file.type && !/^(image|video)\//.test(file.type)) {
      return say("That is not a picture. Choose a JPEG, PNG, WebP or other image file, or a clip.");
    }
    if (file.size > mostMb * 1024 * 1024) {
      return say("That picture is larger than %(size)s MB. Choose a smaller one.", { size: mostMb });
    }
    return "";
  }

  function send(address, file) {
    var body = new FormData();
    body.append("image", file, file.name || "pasted");
    return fetch(address, { method: "POST", body: body }).then(function (response) {
      return response.ok ? response.text() : response.json();
    });
  }

  function ask(file) {
    if (fault(file)) return refuse(fault(file));
    var turn = ++asked;
    show(file);
    tell(say("Looking closely …"), "working");
    send("api/identify.html", file).then(function (answer) {
      if (turn !== asked) return;
      if (answer.error) tell(answer.error.message, "error");
      else insert(answer);
    }).catch(function () {
      if (turn === asked) tell(say("The guide does not answer. Is fieldguide serve still running?"), "error");
    });
  }

  /* Several pictures: one after the other, each an item of a list. */
  function askSeveral(files) {
    var turn = ++asked;
    var title = document.createElement("h2");
    var list = document.createElement("ol");
    title.className = "answer-title";
    title.tabIndex = -1;
    list.className = "entries";
    show(null);
    document.getElementById("answer").replaceChildren(title, list);
    reply.setAttribute("aria-busy", "true");

    function add(item) {
      list.append(item);
    }

    function addError(text, file) {
      var item = document.createElement("li");
      var line = document.createElement("p");
      line.className = "error";
      line.textContent = file.name + ": " + text;
      item.append(line);
      add(item);
    }

    function next(i) {
      if (turn !== asked) return;
      var isLast = i === files.length;
      title.textContent = isLast ? sayCount("%(n)s picture", "%(n)s pictures", files.length)
        : say("Looking at picture %(number)s of %(n)s …", { number: i + 1, n: files.length });
      if (isLast) {
        reply.setAttribute("aria-busy", "false");
        return title.focus();
      }
      if (fault(files[i])) {
        addError(fault(files[i]), files[i]);
        return next(i + 1);
      }
      send("api/entry.html", files[i]).then(function (answer) {
        if (turn !== asked) return;
        if (answer.error) addError(answer.error.message, files[i]);
        else add(new DOMParser().parseFromString(answer, "text/html").querySelector("li"));
        next(i + 1);
      }).catch(function () {
        if (turn === asked) tell(say("The guide does not answer. Is fieldguide serve still running?"), "error");
      });
    }
    next(0);
  }

  function askAll(data, otherwise) {
    var files = data ? Array.from(data.files) : [];
    if (files.length > 1) askSeveral(files);
    else if (files.length) ask(files[0]);
    else if (otherwise) refuse(otherwise);
  }

  page.classList.add("scripted");
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  chooser.addEventListener("change", function () { askAll(chooser); });
  document.addEventListener("paste", function (event) {
    var isSearch = event.target === document.getElementById("q");
    askAll(event.clipboardData,
      isSearch ? "" : say("The clipboard holds no picture. Copy one, then paste it here."));
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
    askAll(event.dataTransfer,
      say("That was not a file. Save the picture first, then drop the file."));
  });
})();
