/** Beside microphone and camera: which device, without a dialog. */
import type { Device } from "../call/devices.ts";
import { playTestTone } from "../page/sounds.ts";
import { t } from "../texts/texts.ts";
import { DEVICE_NAMES, foundOf, hasOutputChoice, labelOf } from "./devices.tsx";
import { Icon } from "./icons.tsx";
import { Menu, MenuItem } from "./menu.tsx";
import { dialog, useVisit } from "./view.ts";

export function DeviceMenu({ kind }: { readonly kind: "audio" | "video" }) {
  const { media } = useVisit();
  const isSound = kind === "audio";
  return (
    <Menu
      label={t(isSound ? "chooseSound" : "chooseCamera")}
      look="control caret"
      button={<Icon name="up" />}
      items={(close) => (
        <>
          <Choices kind={kind} onChosen={close} />
          {isSound && hasOutputChoice(media) && <Choices kind="output" onChosen={close} />}
          <hr />
          {isSound && (
            <MenuItem icon="sound" text={t("testSpeaker")} onClick={() => playTestTone(media.chosen("output"))} />
          )}
          <MenuItem
            icon="settings"
            text={t("devices")}
            onClick={() => {
              close();
              dialog.value = "devices";
            }}
          />
        </>
      )}
    />
  );
}

function Choices({ kind, onChosen }: { readonly kind: Device["kind"]; readonly onChosen: () => void }) {
  const { media } = useVisit();
  const found = foundOf(media, kind);
  const chosen = found.some(({ deviceId }) => deviceId === media.chosen(kind)) ? media.chosen(kind) : "";
  const name = t(DEVICE_NAMES[kind]);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is no part of a menu.
    <div role="group" aria-label={name}>
      <p class="menu-title muted small" aria-hidden="true">
        {name}
      </p>
      {[
        { deviceId: "", text: t("systemDefault") },
        ...found.map((one, at) => ({ ...one, text: labelOf(one, at) })),
      ].map(({ deviceId, text }) => (
        <MenuItem
          key={deviceId}
          text={text}
          isChosen={deviceId === chosen}
          onClick={() => {
            void media.choose(kind, deviceId);
            onChosen();
          }}
        />
      ))}
    </div>
  );
}
