/** Starts the page. The demo is there only if the service has put its key into the page. */
import { keepFocus } from "../focus/focus.ts";
import { Demo } from "./demo.ts";
import { watchHealth } from "./health.ts";

keepFocus();
watchHealth();
const key = document.documentElement.dataset.key;
if (key) new Demo(key);
