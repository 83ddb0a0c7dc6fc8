/** The page: what is shown depends on how far the visit has come. */
import { useSignalEffect } from "@preact/signals";
import { language, t } from "../texts/texts.ts";
import type { Visit } from "../visit/visit.ts";
import { ClosedPage, ConsentPage, LeftPage, LoadingPage, OutPage, WaitingPage } from "./closed.tsx";
import { DoorPage } from "./door.tsx";
import { InsidePage } from "./inside.tsx";
import { LanguageMenu } from "./language.tsx";
import { Announcements } from "./live.tsx";
import { VisitContext } from "./view.ts";

export function App({ visit }: { readonly visit: Visit }) {
  const { session } = visit;
  useSignalEffect(() => {
    document.documentElement.lang = language.value;
    document.documentElement.dir = t("direction");
    document.title = session.room.value.roomName;
  });
  const isInside = session.stage.value.at === "inside";
  return (
    <VisitContext.Provider value={visit}>
      <Page visit={visit} />
      {!isInside && (
        <footer class="foot">
          <LanguageMenu />
        </footer>
      )}
      <Announcements />
    </VisitContext.Provider>
  );
}

function Page({ visit }: { readonly visit: Visit }) {
  const { session } = visit;
  const stage = session.stage.value;
  switch (stage.at) {
    case "loading":
      return <LoadingPage />;
    case "door":
      return <DoorPage />;
    case "entering":
      // The door stays as it is; a visit that enters by itself has none.
      return session.door.value && !session.door.value.autoJoin ? <DoorPage /> : <LoadingPage />;
    case "consent":
      return <ConsentPage by={stage.by} />;
    case "waiting":
      return <WaitingPage {...stage} />;
    case "closed":
      return <ClosedPage {...stage} />;
    case "inside":
      return <InsidePage />;
    case "out":
      return <OutPage why={stage.why} />;
    case "left":
      return <LeftPage />;
  }
}
