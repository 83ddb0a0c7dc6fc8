import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Kit } from "./testing/kit.ts";

let kit: Kit;
beforeEach(() => {
  kit = new Kit();
});
afterEach(() => kit.restore());

describe("a direct message that its sender repeats", () => {
  const directs: unknown[] = [];
  const direct = (data: unknown, from: string, id?: string): Promise<void> =>
    kit.service.socket.receive({ type: "direct", from, data, ...(id !== undefined && { id }) });
  const connected = async (): Promise<void> => {
    directs.length = 0;
    (await kit.connected()).on("direct", ({ data }) => directs.push(data));
  };

  test("comes once, also on another connection; one of another sender or without an id is another one", async () => {
    await connected();
    await direct("first", "bob", "a");
    await kit.reconnected();
    await direct("again", "bob", "a");
    await direct("eve's", "eve", "a");
    await direct("next", "bob", "b");
    await direct("plain", "bob");
    await direct("plain", "bob");
    expect(directs).toEqual(["first", "eve's", "next", "plain", "plain"]);
  });

  test("is not one on the same connection: two senders of REST may choose the same id", async () => {
    await connected();
    await direct("invoice", "server", "17");
    await direct("parcel", "server", "17");
    expect(directs).toEqual(["invoice", "parcel"]);
  });

  test("is recognised for two minutes, and among the newest 1,000", async () => {
    await connected();
    await direct("first", "bob", "a");
    await kit.clock.advance(90_000);
    await kit.reconnected();
    await direct("again", "bob", "a");
    await kit.clock.advance(31_000);
    await direct("later", "bob", "a");
    for (let i = 0; i < 1000; i++) await direct(undefined, "bob", String(i));
    await kit.reconnected();
    directs.length = 0;
    await direct("forgotten", "bob", "a");
    await direct("known", "bob", "999");
    expect(directs).toEqual(["forgotten"]);
  });
});
