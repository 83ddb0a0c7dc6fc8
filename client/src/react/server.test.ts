import { expect, test } from "bun:test";
import { createElement, type ReactNode } from "react";
import { renderToString } from "react-dom/server";
import { Parley, type ParleyOptions } from "../parley.ts";
import { stateOf } from "../state.ts";
import { ParleyProvider, useMemberStates, useMessages, usePresence, useStatus } from "./react.ts";

const OPTIONS: ParleyOptions = {
  url: "https://parley.example.com",
  key: "pk",
  // biome-ignore lint/complexity/useArrowFunction: it is called with `new`.
  WebSocket: function () {
    throw new Error("a server that renders a page must not connect");
  } as never,
};

function Chat(): ReactNode {
  const { entries, hasEarlier } = useMessages("chat");
  const { states } = useMemberStates("chat", stateOf);
  return [useStatus().state, usePresence("chat").length, entries.length, states.size, String(hasEarlier)].join(" ");
}

test("a page that a server renders shows no connection, and nothing is connected", async () => {
  const html = renderToString(createElement(ParleyProvider, { options: OPTIONS }, createElement(Chat)));
  expect(html).toBe("connecting 0 0 0 false");
  await new Promise((resolve) => setTimeout(resolve));
});

test("also with a client of one's own that has ended, so that the page fits what the browser draws first", () => {
  const client = new Parley({ ...OPTIONS, autoConnect: false });
  client.close();
  expect(renderToString(createElement(ParleyProvider, { client }, createElement(Chat)))).toBe("connecting 0 0 0 false");
});

test("a hook without a provider reports what is missing", () => {
  expect(() => renderToString(createElement(Chat))).toThrow("there is no <ParleyProvider> around this component");
});
