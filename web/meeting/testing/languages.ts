/** All texts at once, for tests and pictures. */
import { de } from "../texts/de.ts";
import { en, type Texts } from "../texts/en.ts";
import { es } from "../texts/es.ts";
import { fr } from "../texts/fr.ts";
import type { Language } from "../texts/names.ts";
import { learn } from "../texts/texts.ts";

export const LANGUAGES: Readonly<Record<Language, Texts>> = { en, de, fr, es };

export function learnAll(): void {
  for (const [tag, texts] of Object.entries(LANGUAGES)) learn(tag as Language, texts);
}
