/** Beside a name: who runs the meeting, and whose name no token vouches for. A host is never called a guest. */
import { t } from "../texts/texts.ts";

export function Mark({ isAdmin, isGuest }: { readonly isAdmin: boolean; readonly isGuest: boolean }) {
  if (isAdmin) return <span class="guest">{t("host")}</span>;
  if (!isGuest) return null;
  return (
    <span class="guest" title={t("guestMeaning")}>
      {t("guest")}
    </span>
  );
}
