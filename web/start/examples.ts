/** Code to copy, with this service's address, key and channel in it. */
import { $, h } from "./dom.ts";
import { SOCKET_ORIGIN } from "./wire.ts";

const COPIED_MS = 2000;

function copyable(place: string, ...content: (Node | string)[]): void {
  const block = h("pre", { tabindex: "0", "aria-label": "Example" }, h("code", {}, ...content));
  const button = h("button", { type: "button", class: "small", "aria-live": "polite" }, "Copy");
  button.addEventListener("click", async () => {
    // Browsers allow the clipboard only on https and localhost; elsewhere the text is selected, ready to copy.
    const isCopied = await navigator.clipboard?.writeText(block.textContent ?? "").then(
      () => true,
      () => false,
    );
    if (!isCopied) getSelection()?.selectAllChildren(block);
    button.textContent = isCopied ? "Copied" : "Selected";
    setTimeout(() => {
      button.textContent = "Copy";
    }, COPIED_MS);
  });
  $(place)
    .querySelector(".sample")
    ?.replaceChildren(h("div", { class: "copyable" }, block, button));
}

export function drawExamples(key: string, channel: string): void {
  const name = JSON.stringify(channel);
  copyable(
    "page",
    `<script type="module">
  import { Parley } from "${location.origin}/client.js";

  const parley = new Parley({ url: "${location.origin}", key: "${key}" });
  const chat = parley.channel(${name});
  chat.on("message", ({ from, data }) => console.log(from, data));
  await chat.subscribed;
  await chat.publish({ text: "hello from a page" });
</script>`,
  );
  copyable(
    "sdk",
    'import { SignallingClient } from "@metered-ca/realtime";\n\nconst client = new SignallingClient({\n  ',
    h("mark", {}, `url: "${SOCKET_ORIGIN}",`),
    `
  apiKey: "${key}",
});
client.on("message", ({ from, data }) => console.log(from, data));
await client.connect();
await client.subscribe(${name});
await client.publish(${name}, { text: "hello from the SDK" });`,
  );
  copyable(
    "backend",
    `curl -H "Authorization: Bearer $PARLEY_KEY" \\
  -d '{"data":{"text":"hello from the backend"}}' \\
  "${location.origin}/v1/channels/${encodeURIComponent(channel)}/publish"`,
  );
  const isSecure = location.protocol === "https:" || ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  $("sdk-note").hidden = isSecure;
  listenToTabs([...document.querySelectorAll<HTMLElement>(".tabs [role=tab]")]);
}

/** Arrows move between the tabs, as in every list of tabs. */
function listenToTabs(tabs: readonly HTMLElement[]): void {
  const choose = (chosen: HTMLElement | undefined): void => {
    for (const tab of tabs) {
      tab.ariaSelected = String(tab === chosen);
      tab.tabIndex = tab === chosen ? 0 : -1;
      $(tab.getAttribute("aria-controls") ?? "").hidden = tab !== chosen;
    }
  };
  for (const [at, tab] of tabs.entries()) {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: tabs.length - 1 }[key];
      if (step === undefined) return;
      const next = tabs[(at + step) % tabs.length];
      choose(next);
      next?.focus();
    });
  }
}
