/** The menu of languages. */
import { useId } from "preact/hooks";
import { announce } from "../page/announce.ts";
import { keep } from "../page/storage.ts";
import { speak } from "../texts/loading.ts";
import { LANGUAGE_NAMES, type Language } from "../texts/names.ts";
import { language, t } from "../texts/texts.ts";

export function LanguageMenu() {
  const id = useId();
  const choose = async (menu: HTMLSelectElement): Promise<void> => {
    const chosen = menu.value as Language;
    if (await speak(chosen)) return keep("local", "language", chosen);
    menu.value = language.value;
    announce(t("somethingFailed"));
  };
  return (
    <div class="language">
      <label for={id}>{t("language")}</label>
      <select id={id} value={language.value} onChange={(event) => void choose(event.currentTarget)}>
        {Object.entries(LANGUAGE_NAMES).map(([tag, name]) => (
          <option key={tag} value={tag} lang={tag}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}
