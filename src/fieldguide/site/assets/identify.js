/* Identify: take a picture by drop, paste or file chooser, send it, insert the guide's answer. */
(function () {
  "use strict";
  var page = document.getElementById("identify");
  if (!page) return;
  var form = page.querySelector("form");
  var chooser = document.getElementById("image");
  var drop = document.getElementById("drop");
  var reply = document.getElementById("reply");
  var mostMb = Number(page.getAttribute("data-max-mb"));
  var asked = 0;
  var address = null;

  function say(text, className) {
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
    image.alt = "The picture you chose";
    image.addEventListener("error", function () { image.remove(); });
    if (file) image.src = address;
    document.getElementById("shown").replaceChildren(image);
    page.classList.toggle("has-picture", Boolean(file));
  }

  function refuse(text) {
    asked += 1;
    show(null);
    say(text, "error");
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

  function ask(file) {
    if (file.type && file.type.indexOf("image/") !== 0) {
      return refuse("That is not a picture. Choose a JPEG, PNG, WebP or other image file.");
    }
    if (file.size > mostMb * 1024 * 1024) {
      return refuse("That picture is larger than " + mostMb + " MB. Choose a smaller one.");
    }
    var turn = ++asked;
    var body = new FormData();
    body.append("image", file, file.name || "pasted");
    show(file);
    say("Looking closely …", "working");
    fetch("api/identify.html", { method: "POST", body: body }).then(function (response) {
      return response.ok ? response.text() : response.json();
    }).then(function (answer) {
      if (turn !== asked) return;
      if (answer.error) say(answer.error.message, "error");
      else insert(answer);
    }).catch(function () {
      if (turn === asked) say("The guide does not answer. Is fieldguide serve still running?", "error");
    });
  }

  function askFirst(data, otherwise) {
    if (data && data.files.length) ask(data.files[0]);
    else if (otherwise) refuse(otherwise);
  }

  page.classList.add("scripted");
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  chooser.addEventListener("change", function () { askFirst(chooser); });
  document.addEventListener("paste", function (event) {
    var isSearch = event.target === document.getElementById("q");
    askFirst(event.clipboardData,
      isSearch ? "" : "The clipboard holds no picture. Copy one, then paste it here.");
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
    askFirst(event.dataTransfer, "That was not a file. Save the picture first, then drop the file.");
  });
})();
