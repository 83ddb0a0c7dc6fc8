/** Loads the texts of a language, each from a file of its own: most visitors read one. */
import type { Texts } from "./en.ts";
import type { Language } from "./names.ts";
import { isKnown, language, learn } from "./texts.ts";

let tries = 0;

/** Shows the page in this language; false: its texts could not be loaded, and the page stays as it is. */
export async function speak(tag: Language): Promise<boolean> {
  try {
    if (!isKnown(tag)) learn(tag, await textsOf(tag));
    language.value = tag;
    return true;
  } catch {
    return false;
  }
}

async function textsOf(tag: Language): Promise<Texts> {
  const addresses = new URLSearchParams(document.body.dataset.texts);
  // Browsers remember that an address could not be loaded.
  const suffix = tries++ === 0 ? "" : `?try=${tries}`;
  const module = (await import(`${addresses.get(tag)}${suffix}`)) as Readonly<Record<string, Texts | undefined>>;
  const texts = module[tag];
  if (!texts) throw new Error(`There are no texts in ${tag}.`);
  return texts;
}
