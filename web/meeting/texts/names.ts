/** The languages of the page, as each calls itself. */
export const LANGUAGE_NAMES = {
  en: "English",
  de: "Deutsch",
  fr: "Français",
  es: "Español",
} as const;
export type Language = keyof typeof LANGUAGE_NAMES;
