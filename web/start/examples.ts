/** Examples to copy, with this service's address, key and channel in them. */
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
  $(place).replaceChildren(h("div", { class: "copyable" }, block, button));
}

export function drawExamples(key: string, channel: string): void {
  copyable(
    "make-key",
    `export PARLEY_URL=${location.origin}
bin/parley apps create try
bin/parley keys create --app try --type publishable \\
  --channels '**' --actions publish,subscribe,presence,send \\
  --origins '${location.origin}'`,
  );
  copyable(
    "sdk",
    'import { SignallingClient } from "@metered-ca/realtime";\n\nconst client = new SignallingClient({\n  ',
    h("mark", {}, `url: "${SOCKET_ORIGIN}",`),
    `
  apiKey: "${key || "pk_live_…"}",
});
client.on("message", ({ from, data }) => console.log(from, data));
await client.connect();
await client.subscribe(${JSON.stringify(channel)});
await client.publish(${JSON.stringify(channel)}, { text: "hello from the SDK" });`,
  );
  copyable(
    "backend",
    `curl -H "Authorization: Bearer $PARLEY_KEY" \\
  -d '{"data":{"text":"hello from the backend"}}' \\
  "${location.origin}/v1/channels/${encodeURIComponent(channel)}/publish"`,
  );
  const isSecure = location.protocol === "https:" || ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  $("sdk-note").hidden = isSecure;
}
