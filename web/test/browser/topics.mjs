// What is tried, in this order: the first one registers the admin in the browser; each other one makes what it needs.
import firstStart from "./topics/first-start.mjs";

export const TOPICS = {
  "first-start": firstStart,
};
