/** Starts the page. The demo is there only if the service has put its key into the page. */
import { Demo } from "./demo.ts";
import { watchHealth } from "./health.ts";

watchHealth();
const key = document.documentElement.dataset.key;
if (key) new Demo(key);
