/** What a change takes away, as it is sent to other nodes, which apply it without the store. */

import { describe, expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import { appRow, keyRow } from "../../store/testing/rows.ts";
import { generationOf, isLiveGeneration } from "./app-secret.ts";
import { Keyring } from "./keyring.ts";
import { digestOf, keySecretIdentity, Vault } from "./vault.ts";
import { decodeWithdrawn, encodeWithdrawn, endAfterRotation, isNarrower, type Withdrawn } from "./withdrawn.ts";

const NOW_MS = 1000;

describe("between nodes", () => {
  const left = [
    { seq: 3, ends: null },
    { seq: 2, ends: 99 },
  ];
  const all: Withdrawn[] = [
    { kind: "app", id: "a" },
    { kind: "key", id: "k" },
    { kind: "narrowed key", id: "k" },
    { kind: "narrowed key", id: "k", edit: "e" },
    { kind: "operator", id: "o" },
    { kind: "session", id: digestOf("s") },
    { kind: "key secrets", id: "k", left },
    { kind: "app secrets", id: "a", left },
  ];
  test.each(all)("%j is read as it was written", (one) => {
    expect(decodeWithdrawn(encodeWithdrawn(one))).toEqual(one);
  });

  test.each([
    "",
    "[]",
    '{"kind":"key"}',
    '{"kind":"later","id":"k"}',
    JSON.stringify({ kind: "key", id: "k".repeat(200) }),
    '{"kind":"key secrets","id":"k","left":[]}',
    '{"kind":"key secrets","id":"k","left":[{"seq":"1","ends":null}]}',
    JSON.stringify({ kind: "app secrets", id: "a", left: new Array(7).fill({ seq: 1, ends: null }) }),
  ])("%s is ignored", (text) => {
    expect(decodeWithdrawn(text)).toBeUndefined();
  });
});

test("an edit that takes something away is narrower", () => {
  const before = keyRow("k", {
    channelPatterns: ["a", "b"],
    actions: ["publish", "send"],
    allowedOrigins: ["x"],
    turn: true,
  });
  const edits: [Parameters<typeof keyRow>[1], boolean][] = [
    [{ label: "new" }, false],
    [{ channelPatterns: ["b", "a", "c"] }, false],
    [{ channelPatterns: ["**"] }, false],
    [{ channelPatterns: ["a"] }, true],
    [{ actions: ["publish"] }, true],
    [{ allowedOrigins: ["*"] }, false],
    [{ allowedOrigins: ["y"] }, true],
    [{ turn: false }, true],
  ];
  for (const [edit, expected] of edits)
    expect([edit, isNarrower(before, { ...before, ...edit })]).toEqual([edit, expected]);
});

test("a secret is never valid for longer, in whatever order rotations become known", () => {
  const left = [
    { seq: 3, ends: null },
    { seq: 2, ends: 50 },
  ];
  const ends = (seq: number, held: number | null): number | null => endAfterRotation({ seq, ends: held }, left);
  expect([ends(4, null), ends(3, null), ends(3, 20), ends(2, null), ends(2, 20), ends(1, 90)]).toEqual([
    null,
    null,
    20,
    50,
    20,
    0,
  ]);
});

describe("a keyring without the store", () => {
  const vault = new Vault(Buffer.alloc(32));
  const secretRow = (keyId: string, seq: number, ends: number | null) => ({
    keyId,
    seq,
    sealed: vault.seal(`secret ${seq}`, keySecretIdentity(keyId, seq)),
    digest: digestOf(`secret ${seq}`),
    created: 0,
    ends,
  });
  const app = appRow("a", { secretDigest: digestOf("second"), secretSeq: 2 });
  const previousSecrets = [{ seq: 1, digest: digestOf("first"), ends: 90_000 }];
  const snapshot = {
    revision: 1,
    apps: [{ ...app, previousSecrets }, appRow("b")],
    keys: [
      keyRow("k", { app: anAppId("a") }),
      keyRow("p", { app: anAppId("a"), type: "publishable" }),
      keyRow("other", { app: anAppId("b") }),
    ],
    secrets: [secretRow("k", 2, null), secretRow("k", 1, 90_000), secretRow("other", 1, null)],
  };
  const loaded = (): { keyring: Keyring; events: string[] } => {
    const keyring = new Keyring(vault);
    keyring.load(snapshot);
    const events: string[] = [];
    keyring.onChange((id) => events.push(id));
    keyring.onDeletion((id) => events.push(`${id} deleted`));
    keyring.onRotation((id) => events.push(`${id} rotated`));
    return { keyring, events };
  };
  const endsOf = (keyring: Keyring, id: string): unknown => {
    const key = keyring.key(id);
    return key?.type === "secret" && key.secrets.map(({ seq, ends }) => [seq, ends]);
  };

  test("ends a deleted application with its keys, and no other", () => {
    const { keyring, events } = loaded();
    keyring.withdraw({ kind: "app", id: "a" });
    keyring.withdraw({ kind: "app", id: "a" });
    expect(events).toEqual(["k", "p", "a deleted"]);
    expect([keyring.app("a"), keyring.key("k"), keyring.key("other")?.id]).toEqual([undefined, undefined, "other"]);
    expect(keyring.isBehind).toBe(true);
  });

  test("withholds a narrowed key, until it is revoked or the store was read", () => {
    const { keyring, events } = loaded();
    keyring.withdraw({ kind: "narrowed key", id: "unknown" });
    keyring.withdraw({ kind: "narrowed key", id: "k" });
    expect([keyring.key("k"), keyring.isWithheld("k"), keyring.isWithheld("unknown")]).toEqual([
      undefined,
      true,
      false,
    ]);
    keyring.withdraw({ kind: "key", id: "k" });
    expect(keyring.isWithheld("k")).toBe(false);
    keyring.withdraw({ kind: "narrowed key", id: "p" });
    keyring.load(snapshot);
    expect([keyring.key("p")?.id, keyring.isWithheld("p"), keyring.isBehind]).toEqual(["p", false, false]);
    expect(events).toEqual(["k", "p", "k", "p"]);
  });

  test("ends the secrets of a key that a rotation has not left", () => {
    const { keyring, events } = loaded();
    const left = [
      { seq: 3, ends: null },
      { seq: 2, ends: 5000 },
    ];
    keyring.withdraw({ kind: "key secrets", id: "k", left });
    expect(endsOf(keyring, "k")).toEqual([
      [2, 5000],
      [1, 0],
    ]);
    keyring.withdraw({ kind: "key secrets", id: "p", left });
    expect(events).toEqual(["k"]);
    keyring.load(snapshot);
    expect(endsOf(keyring, "k")).toEqual([
      [2, null],
      [1, 90_000],
    ]);
  });

  test("ends the generations of an application's secret that a rotation has not left", () => {
    const { keyring, events } = loaded();
    const generations = (): unknown[] => {
      const row = keyring.app("a");
      return ["second", "first"].map((secret) => generationOf(secret, row, NOW_MS));
    };
    expect(generations()).toEqual([2, 1]);
    const graceful = [
      { seq: 3, ends: null },
      { seq: 2, ends: 5000 },
    ];
    keyring.withdraw({ kind: "app secrets", id: "a", left: graceful });
    expect([generations(), events]).toEqual([[2, undefined], ["a rotated"]]);
    keyring.withdraw({ kind: "app secrets", id: "a", left: [{ seq: 4, ends: null }] });
    expect(generations()).toEqual([undefined, undefined]);
    // An announcement that was overtaken gives nothing back.
    keyring.withdraw({ kind: "app secrets", id: "a", left: graceful });
    const row = keyring.app("a");
    expect([generations(), row && isLiveGeneration(row, 4, NOW_MS)]).toEqual([[undefined, undefined], true]);
    expect(events).toEqual(["a rotated", "a rotated"]);
    keyring.load(snapshot);
    expect(generations()).toEqual([2, 1]);
  });
});
