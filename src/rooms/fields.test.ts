import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { FIELD_NAMES, FIELDS, type FieldEdits, type FieldName, fieldOf, merged, shownFields } from "./fields.ts";

/** A value that the field accepts, as its check returns it. */
const value = (name: FieldName): fc.Arbitrary<string | number | boolean> => {
  if (typeof fieldOf(name).initial === "boolean") return fc.boolean();
  if (name === "privacy") return fc.constantFrom("public", "private");
  if (name === "lang") return fc.constantFrom("en", "de");
  return name.endsWith("Webhook") ? fc.constant("https://example.com") : fc.integer({ min: 1, max: 1000 });
};
const canUnset = (name: FieldName): boolean => fieldOf(name).takes().safeParse(null).success;

const edits = fc.record(
  Object.fromEntries(
    FIELD_NAMES.map((name) => [name, canUnset(name) ? fc.option(value(name), { freq: 2 }) : value(name)]),
  ),
  { requiredKeys: [] },
) as fc.Arbitrary<FieldEdits>;

describe("edits", () => {
  test("applied one after the other give the same as both merged", () => {
    fc.assert(
      fc.property(edits, edits, (first, second) => {
        expect(merged(merged({}, first), second)).toEqual(merged({}, { ...first, ...second }));
      }),
    );
  });

  test("keep fields that they do not name, and remove fields that they unset", () => {
    fc.assert(
      fc.property(edits, edits, (first, second) => {
        const before = merged({}, first);
        const after = merged(before, second);
        for (const name of FIELD_NAMES) {
          if (!(name in second)) expect(after[name]).toBe(before[name] as never);
          else if (second[name] === null) expect(name in after).toBe(false);
          else expect(after[name]).toBe(second[name] as never);
        }
      }),
    );
  });
});

describe("the record", () => {
  test("always has the fields of service.md 2.4, and others only if they are set", () => {
    expect(shownFields({})).toEqual({
      privacy: "public",
      deleteOnExp: false,
      autoJoin: false,
      enableRequestToJoin: true,
      enableChat: true,
      enableScreenSharing: true,
      joinVideoOn: true,
      joinAudioOn: true,
      ownerOnlyBroadcast: false,
      enableRecording: false,
      ejectAtRoomExp: false,
      lang: "en",
    });
  });

  test("shows every field that is set", () => {
    fc.assert(
      fc.property(edits, (given) => {
        const set = merged({}, given);
        expect(shownFields(set)).toEqual({ ...shownFields({}), ...set });
      }),
    );
  });
});

test.each(["", "e", "en_US", "x".repeat(65), "../en", "de-", "en us"])("%p is not accepted as a language", (tag) => {
  expect(FIELDS.lang.takes().safeParse(tag).success).toBe(false);
});

describe("texts that would take seconds to read", () => {
  /** Whether the field takes the text, and how long the texts were that the runtime had to parse for that. */
  function reading(name: FieldName, text: string): { readonly isTaken: boolean; readonly chars: readonly number[] } {
    const spies = [spyOn(URL, "canParse"), spyOn(Intl, "getCanonicalLocales")];
    const isTaken = fieldOf(name).takes().safeParse(text).success;
    const chars = spies.flatMap((spy) => spy.mock.calls.map(([parsed]) => String(parsed).length));
    for (const spy of spies) spy.mockRestore();
    return { isTaken, chars };
  }

  const PILE = `a${"\u0301".repeat(600)}${"\u0316".repeat(600)}`;

  test("the host of a webhook is bounded before it is parsed, and so is the whole", () => {
    for (const address of [
      `https://${PILE}`,
      `HTTPS://${PILE}/path`,
      `https:////${PILE}`,
      `https://user:pass@${PILE}`,
      `https://a@b@${PILE}?x`,
      `https://${"a".repeat(256)}`,
      `https://a/${"b".repeat(60_000)}`,
      `https://a${"\u0301".repeat(30_000)}`,
    ])
      expect(reading("meetingJoinWebhook", address)).toEqual({ isTaken: false, chars: [] });
  });

  test("webhooks with an international name, a user, a port and a long path are taken", () => {
    for (const address of [
      "https://b\u00fccher.example",
      "http://hooks_1:8080/in?x=1#y",
      "https://user:p%40ss@example.com:8443/a@b",
      "https://[2001:db8::1]/",
      `https://${"user".repeat(100)}:x@example.com/${"\u0301".repeat(1000)}`,
    ])
      expect(reading("meetingJoinWebhook", address)).toEqual({ isTaken: true, chars: [address.length] });
  });

  test("a language is bounded before it is parsed", () => {
    expect(reading("lang", `en-u-${"aa-bbb-".repeat(1000)}aa`)).toEqual({ isTaken: false, chars: [] });
    expect(reading("lang", "pt-BR")).toEqual({ isTaken: true, chars: [5] });
  });
});
