/** Starts the page: the key and the channel from the address, the page itself or the form, then the chat. */
import { Chat } from "./chat.ts";
import { $ } from "./dom.ts";
import { drawExamples } from "./examples.ts";

const STORED = "parley-key";
const keyField = $<HTMLInputElement>("key");
const channelField = $<HTMLInputElement>("channel");
/** The demo's key, which the service writes into the page. */
const ownKey = document.documentElement.dataset.key ?? "";

/** Keeps only a typed key, for the second tab: the page's own key may change with the next start. */
function storedKey(typed?: string): string {
  try {
    if (typed) localStorage.setItem(STORED, typed);
    return localStorage.getItem(STORED) ?? "";
  } catch {
    return "";
  }
}

const addressOf = (channel: string): string => `/?${new URLSearchParams({ channel })}`;
const chat = new Chat();

function enter(key: string, channel: string): void {
  keyField.value = key;
  channelField.value = channel;
  $("channel-name").textContent = channel;
  $<HTMLAnchorElement>("second").href = addressOf(channel);
  drawExamples(key, channel);
  chat.enter(key, channel);
}

$("connect").addEventListener("submit", (event) => {
  event.preventDefault();
  const channel = channelField.value.trim();
  history.replaceState(null, "", addressOf(channel));
  const key = keyField.value.trim();
  if (key !== ownKey) storedKey(key);
  enter(key, channel);
});

// Without one in the address, what index.html shows from the first paint: nothing moves.
const shown = $("channel-name").textContent ?? "";
enter(ownKey || storedKey(), new URLSearchParams(location.search).get("channel") || shown);
