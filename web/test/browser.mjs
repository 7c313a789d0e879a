// What files in test/walk/ take from the tests in a browser.
export { look } from "./browser/look.mjs";
export { expect, launch, newPage, problems } from "./browser/pages.mjs";
