/* Sentences of the scripts, in the language of the page: those of the catalogue, which the page
   brings with it, else as they stand in the script. */
var fieldguide = (function () {
  "use strict";
  var language = document.documentElement.lang;
  var table = document.getElementById("sentences");
  var known = table ? JSON.parse(table.textContent) : {};
  var forms = new Intl.PluralRules(language);

  function write(number, digits) {
    return number.toLocaleString(language,
      { minimumFractionDigits: digits || 0, maximumFractionDigits: digits || 0 });
  }
  function fill(text, values) {
    return text.replace(/%(?:%|\((\w+)\)s)/g, function (found, name) {
      if (!name) return "%";
      return typeof values[name] === "number" ? write(values[name]) : values[name];
    });
  }
  function say(message, values) {
    return fill((known[message] || [message])[0], values);
  }
  function sayCount(one, many, n, values) {
    var said = known[one] || [one, many];
    return fill(said[forms.select(n) === "one" ? 0 : 1], Object.assign({ n: n }, values));
  }
  return { say: say, sayCount: sayCount, write: write };
})();
