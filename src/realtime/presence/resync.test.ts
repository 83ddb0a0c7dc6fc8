/** Clients resynchronise after messages of their channels were lost. */
import { describe, expect, test } from "bun:test";
import { APP, leftovers, World } from "../testing/kit.ts";

describe("channels whose messages were lost between nodes", () => {
  test("500 of them in one turn cost one look at each connection; subscribers of any are closed with 1001", async () => {
    const world = new World();
    const { hub } = world.node;
    const channels = Array.from({ length: 500 }, (_, at) => `lost ${at}`);
    // Each subscribes to ten of them, some without presence.
    const listening = Array.from({ length: 100 }, (_, at) => {
      const client = world.connect(`p${at}`, { actions: at % 2 === 0 ? ["subscribe"] : ["subscribe", "presence"] });
      for (let i = 0; i < 10; i++) client.subscribe(channels[(at * 5 + i) % channels.length] as string);
      return client;
    });
    const others = Array.from({ length: 50 }, (_, at) => {
      const client = world.connect(`q${at}`);
      client.subscribe("kept");
      return client;
    });
    world.advance(600);
    let looks = 0;
    const all = hub.connections.all.bind(hub.connections);
    hub.connections.all = function* () {
      for (const connection of all()) {
        looks++;
        yield connection;
      }
    };
    for (const channel of [...channels, "unknown"]) hub.engineCallbacks.lost(APP, channel);
    await Promise.resolve();
    expect(looks).toBe(listening.length + others.length);
    expect(new Set(listening.map((client) => client.closeCode))).toEqual(new Set([1001]));
    expect(new Set(others.map((client) => client.closeCode))).toEqual(new Set([undefined]));
    // A later turn looks again.
    hub.engineCallbacks.lost(APP, "kept");
    await Promise.resolve();
    expect(new Set(others.map((client) => client.closeCode))).toEqual(new Set([1001]));
    expect(leftovers(world)).toEqual({});
  });
});
