import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { LANGUAGES, learnAll } from "../testing/languages.ts";
import { en, type TextKey } from "./en.ts";
import { chosenLanguage, clockTime, counted, duration, language, listed, moment, t } from "./texts.ts";

learnAll();

const MEETING = join(import.meta.dir, "..");
const keys = Object.keys(en) as TextKey[];
const valuesIn = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort();

test.each(Object.entries(LANGUAGES))("%s has every text, with the same values", (_name, texts) => {
  expect(Object.keys(texts).sort()).toEqual([...keys].sort());
  for (const key of keys) {
    expect(texts[key].trim()).not.toBe("");
    expect({ key, values: valuesIn(texts[key]) }).toEqual({ key, values: valuesIn(en[key]) });
  }
});

test.each(["de", "fr", "es"] as const)("%s is translated", (name) => {
  const same = keys.filter((key) => LANGUAGES[name][key] === en[key] && en[key].length > 12 && en[key].includes(" "));
  expect(same.filter((key) => key !== "numberedDevice")).toEqual([]);
});

test("in French, no line begins with a punctuation mark that has a space before it", () => {
  expect(keys.filter((key) => / [:;?!]/.test(LANGUAGES.fr[key]))).toEqual([]);
});

test("every text is used", () => {
  const sources = [...new Bun.Glob("**/*.{ts,tsx}").scanSync(MEETING)]
    .filter((file) => !/^texts\/(en|de|fr|es)\.ts|test/.test(file))
    .map((file) => readFileSync(join(MEETING, file), "utf8"))
    .join("\n");
  expect(keys.filter((key) => !sources.includes(`"${key}"`) && !sources.includes(`.${key}`))).toEqual([]);
});

test("the first language that the page has is chosen, else English", () => {
  expect(chosenLanguage(["", "ja", "de-CH", "fr"])).toBe("de");
  expect(chosenLanguage(["FR"])).toBe("fr");
  expect(chosenLanguage(["pt-BR", ""])).toBe("en");
  expect(chosenLanguage(["__proto__"])).toBe("en");
});

test("a running time is shown as by a clock", () => {
  expect([0, 59, 65, 3599, 3665, 36_000].map(clockTime)).toEqual([
    "0:00",
    "0:59",
    "1:05",
    "59:59",
    "1:01:05",
    "10:00:00",
  ]);
});

test("a name that is written from right to left does not turn the sentence around it", () => {
  expect(t("personJoined", { name: "Ada" })).toBe("Ada joined.");
  for (const name of ["שרה (Host)", "الخوارزمي 780", "Ruth רות"])
    expect(t("personJoined", { name })).toBe(`\u2068${name}\u2069 joined.`);
  expect(listed(["Ada", "שרה"])).toBe("Ada and \u2068שרה\u2069");
});

test("texts, numbers and times follow the language", () => {
  language.value = "de";
  expect(t("personJoined", { name: "Ada {name}" })).toBe("Ada {name} nimmt jetzt teil.");
  expect(counted(1, "peopleOne", "peopleOther")).toBe("1 Person");
  expect(counted(1200, "peopleOne", "peopleOther")).toBe("1.200 Personen");
  expect(duration(90)).toBe("90 Sekunden");
  expect(duration(240)).toBe("4 Minuten");
  const now = Date.UTC(2026, 10, 16, 12);
  expect(moment(now + 3_600_000, now)).not.toContain("2026");
  expect(moment(now + 86_400_000, now)).toContain("2026");
  const zone = new Intl.DateTimeFormat("de", { timeZoneName: "short" })
    .formatToParts(now)
    .find(({ type }) => type === "timeZoneName");
  expect(moment(now + 3_600_000, now)).toContain(zone?.value ?? "no zone");
  expect(moment(now + 86_400_000, now)).toContain(zone?.value ?? "no zone");
  language.value = "fr";
  expect(counted(0, "peopleOne", "peopleOther")).toBe("0 personnes");
  language.value = "en";
});
