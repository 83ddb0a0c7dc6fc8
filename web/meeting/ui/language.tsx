/** The menu of languages. */
import { useId } from "preact/hooks";
import { keep } from "../page/storage.ts";
import { LANGUAGE_NAMES, type Language, language, t } from "../texts/texts.ts";

export function LanguageMenu() {
  const id = useId();
  const choose = (chosen: string): void => {
    language.value = chosen as Language;
    keep("local", "language", chosen);
  };
  return (
    <div class="language">
      <label for={id}>{t("language")}</label>
      <select id={id} value={language.value} onChange={(event) => choose(event.currentTarget.value)}>
        {Object.entries(LANGUAGE_NAMES).map(([tag, name]) => (
          <option key={tag} value={tag} lang={tag}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}
