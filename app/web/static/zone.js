// Fills in the time zone that this browser is set to. The page works without it: the field can be typed or left empty.
// A page that is shown again keeps what was sent (`data-typed`), be it nothing.
(() => {
  const field = document.getElementById("timezone");
  if (!field || field.value || "typed" in field.dataset) return;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) field.value = zone;
})();
