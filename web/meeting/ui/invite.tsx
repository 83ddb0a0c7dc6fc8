/** The link to the room: to copy, or to hand to another application. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { inviteLink } from "../page/address.ts";
import { moment, t } from "../texts/texts.ts";
import { Icon } from "./icons.tsx";
import { dialog, useVisit } from "./view.ts";

export function InviteLink() {
  const { session } = useVisit();
  const isCopied = useSignal(false);
  const url = inviteLink();
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(url);
      isCopied.value = true;
    } catch {
      // In a frame the clipboard may be closed: the link is there to be selected.
    }
  };
  const share = (): void => {
    // A person who closes the sheet has decided that.
    navigator.share({ title: session.room.value.roomName, url }).catch(() => undefined);
  };
  return (
    <div class="invite">
      <input readOnly value={url} aria-label={t("inviteLink")} onFocus={(event) => event.currentTarget.select()} />
      <button type="button" class="primary" onClick={copy}>
        {t(isCopied.value ? "copied" : "copy")}
      </button>
      {hasSheet() && (
        <button type="button" onClick={share}>
          <Icon name="share" />
          {t("share")}
        </button>
      )}
      <p class="hidden-text" aria-live="polite">
        {isCopied.value ? t("copied") : ""}
      </p>
    </div>
  );
}

/** Desktops have one too, which no one looks for. */
const hasSheet = (): boolean => "share" in navigator && matchMedia("(pointer: coarse)").matches;

const LOOK_EVERY_MS = 30_000;

/** The schedule can change while a host waits inside, and the room opens at some time: the text follows. */
function useScheduleWhile(isEarly: boolean): void {
  const { reach } = useVisit();
  useEffect(() => {
    if (!isEarly) return;
    // No answer: the next look has one.
    const timer = setInterval(() => void reach().catch(() => undefined), LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [isEarly, reach]);
}

/** In place of the others, while no one else is inside. */
export function Alone() {
  const { session } = useVisit();
  // A host may be inside before the room opens.
  const opensMs = (session.door.value?.opensAt ?? 0) * 1000;
  useScheduleWhile(opensMs > Date.now());
  return (
    // The dialog has the same link: it would be found twice.
    <div class="alone" aria-hidden={dialog.value === "invite"}>
      <h2>{t("alone")}</h2>
      {session.room.value.showInviteBox ? (
        <>
          <p class="muted">
            {opensMs > Date.now() ? t("aloneOpens", { time: moment(opensMs, Date.now()) }) : t("aloneInvite")}
          </p>
          <InviteLink />
        </>
      ) : (
        <p class="muted">{t("aloneText")}</p>
      )}
    </div>
  );
}
