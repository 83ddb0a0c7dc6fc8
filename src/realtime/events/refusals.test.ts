import { describe, expect, test } from "bun:test";
import type { AppId } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { fakeConnection } from "../testing/tail-cluster.ts";
import type { RefusedConnect } from "./events.ts";
import {
  OFFERED_OTHERS,
  OFFERED_PER_ADDRESS_MAX,
  REFUSAL_APPS_MAX,
  REFUSALS_KEPT_MS,
  REFUSALS_PER_APP_MAX,
  type Refusal,
  Refusals,
} from "./refusals.ts";

const SHOP = anAppId("shop");
const OTHER = anAppId("other");

function scene() {
  const time = { now: 1_000_000 };
  const refusals = new Refusals(() => time.now);
  const connect = (app: AppId | undefined, fields: Partial<RefusedConnect> = {}): void =>
    refusals.connect({
      code: "invalid_token",
      app,
      keyId: undefined,
      peerId: undefined,
      offered: undefined,
      address: "192.0.2.9",
      origin: null,
      ...fields,
    });
  const of = (app?: AppId | null): Refusal[] => [...refusals.of(app)];
  return { time, refusals, connect, of };
}

describe("refusals", () => {
  test("are counted together if only their time differs", () => {
    const { time, connect, of } = scene();
    connect(SHOP, { peerId: "ann" });
    time.now += 5;
    connect(SHOP, { peerId: "bob" });
    time.now += 5;
    connect(SHOP, { peerId: "ann" });
    expect(of(SHOP)).toEqual([
      expect.objectContaining({ peerId: "bob", count: 1, firstMs: 1_000_005, lastMs: 1_000_005 }),
      expect.objectContaining({ peerId: "ann", count: 2, firstMs: 1_000_000, lastMs: 1_000_010 }),
    ]);
  });

  test.each([
    { keyId: "pk_live_1" },
    { address: "192.0.2.10" },
    { origin: "https://shop.example" },
    { code: "token_expired" as const },
  ])("that differ in %j are two", (difference) => {
    const { connect, of } = scene();
    connect(SHOP);
    connect(SHOP, difference);
    expect(of(SHOP)).toHaveLength(2);
  });

  test("have the codes of the wire, and no origin that no browser sends", () => {
    const { refusals, connect, of } = scene();
    for (const origin of ["https://shop.example/?token=secret", "secret", "x".repeat(300)]) connect(SHOP, { origin });
    connect(OTHER, { code: "over_concurrent" });
    refusals.frame(fakeConnection(OTHER, "ann"), "crash", "chat/1");
    expect(of(SHOP)).toMatchObject([{ count: 3, origin: undefined }]);
    expect(of(OTHER)).toMatchObject([
      { kind: "refuse", code: "over_concurrent" },
      { kind: "error", code: "internal_error", peerId: "ann", keyId: "pk_live_1", channel: "chat/1" },
    ]);
  });

  test("of one application push out neither those of others nor those of unknown credentials", () => {
    const { refusals, connect, of } = scene();
    connect(OTHER);
    connect(undefined);
    connect(SHOP, { peerId: "first" });
    const ann = fakeConnection(SHOP, "ann");
    for (let i = 0; i < 3 * REFUSALS_PER_APP_MAX; i++) {
      refusals.frame(ann, "channel_not_authorized", `c${i}`);
      if (i < REFUSALS_PER_APP_MAX) connect(undefined, { address: `192.0.2.${i}` });
    }
    expect([of(OTHER), of(null)].map(({ length }) => length)).toEqual([1, REFUSALS_PER_APP_MAX]);
    const kinds = Object.groupBy(of(SHOP), ({ kind }) => kind);
    expect(kinds.refuse).toMatchObject([{ peerId: "first" }]);
    expect(kinds.error).toHaveLength(REFUSALS_PER_APP_MAX);
    expect(kinds.error?.at(-1)).toMatchObject({ channel: `c${3 * REFUSALS_PER_APP_MAX - 1}` });
  });

  test("of the application that was refused nothing for longest make room for another application", () => {
    const { connect, of } = scene();
    for (let i = 0; i < REFUSAL_APPS_MAX; i++) connect(anAppId(`a${i}`));
    connect(anAppId("a0"));
    connect(anAppId("new"));
    expect(of(anAppId("a0"))).toMatchObject([{ count: 2 }]);
    expect(of(anAppId("a1"))).toEqual([]);
    expect(of()).toHaveLength(REFUSAL_APPS_MAX);
  });

  test("of several unknown keys from one address are rows of their own, up to five; the others are one row", () => {
    const { connect, of } = scene();
    connect(undefined, { address: "192.0.2.1", offered: "pk_live_00000000…" });
    for (let i = 0; i < 3 * REFUSALS_PER_APP_MAX; i++) connect(undefined, { offered: `pk_live_${i}…` });
    connect(undefined, { offered: "pk_live_0…" });
    const rows = of(null).map(({ offered, count }) => [offered, count]);
    expect(rows).toHaveLength(OFFERED_PER_ADDRESS_MAX + 2);
    expect(rows[0]).toEqual(["pk_live_00000000…", 1]);
    expect(rows.at(-1)).toEqual(["pk_live_0…", 2]);
    expect(rows.at(-2)).toEqual([OFFERED_OTHERS, 3 * REFUSALS_PER_APP_MAX - OFFERED_PER_ADDRESS_MAX]);
  });

  test("are forgotten a day after they last happened", () => {
    const { time, connect, of } = scene();
    connect(SHOP, { peerId: "ann" });
    connect(SHOP, { peerId: "bob" });
    time.now += REFUSALS_KEPT_MS - 1;
    connect(SHOP, { peerId: "ann" });
    expect(of()).toHaveLength(2);
    time.now += 1;
    expect(of()).toMatchObject([{ peerId: "ann", count: 2 }]);
  });
});
