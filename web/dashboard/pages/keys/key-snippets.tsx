/** Programs that use a key, in the language of the address. */
import { parameters, setParameters } from "../../address/router.ts";
import type { Key } from "../../api/types.ts";
import { useOrigin } from "../../live/origin.ts";
import { Segmented } from "../../ui/fields.tsx";
import { Card } from "../../ui/page.tsx";
import { Snippet } from "../../ui/values.tsx";
import { LANGUAGES, snippet } from "./snippets.ts";

export function KeySnippets({ title, shown }: { readonly title: string; readonly shown: Key }) {
  const origin = useOrigin();
  const wanted = parameters.value.get("language");
  const [language, name] = LANGUAGES.find(([one]) => one === wanted) ?? LANGUAGES[0];
  return (
    <Card
      title={title}
      aside={
        <Segmented
          label="Language"
          value={language}
          options={LANGUAGES}
          onChange={(value) => setParameters({ language: value === LANGUAGES[0][0] ? "" : value })}
        />
      }
    >
      <Snippet text={snippet(shown, origin, language)} what={`snippet for ${name}`} />
    </Card>
  );
}
