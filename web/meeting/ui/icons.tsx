/** Icons as drawings of lines, in the colour of the text around them. Their meaning is always in a text beside them, or in a label. */

const PATHS = {
  microphone: "M12 3a3 3 0 0 0-3 3v5a3 3 0 0 0 6 0V6a3 3 0 0 0-3-3zM5.5 11a6.5 6.5 0 0 0 13 0M12 17.5V21M8.5 21h7",
  microphoneOff:
    "M4 4l16 16M9 9v2a3 3 0 0 0 4.6 2.5M15 11.5V6a3 3 0 0 0-5.7-1.3M5.5 11a6.5 6.5 0 0 0 10.3 5.3M18.5 11a6.5 6.5 0 0 1-.6 2.7M12 17.5V21M8.5 21h7",
  camera:
    "M3 7.5A1.5 1.5 0 0 1 4.5 6h9A1.5 1.5 0 0 1 15 7.5v9a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 3 16.5zM15 10.5l6-3.5v10l-6-3.5",
  cameraOff:
    "M4 4l16 16M8.5 6h5A1.5 1.5 0 0 1 15 7.5V12M15 15.5v1a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 3 16.5v-9A1.5 1.5 0 0 1 4.5 6H6M15 10.5l6-3.5v10l-3-1.7",
  screen: "M3 5.5h18v11H3zM8.5 20h7M12 16.5V20M12 14V8.5M9.5 10.8 12 8.3l2.5 2.5",
  hand: "M8 12.5V6a1.4 1.4 0 0 1 2.8 0v4.5M10.8 10.5V4.4a1.4 1.4 0 0 1 2.8 0v6M13.6 10.5V5.6a1.4 1.4 0 0 1 2.8 0v6M16.4 11.5V8.4a1.4 1.4 0 0 1 2.8 0V14a6.7 6.7 0 0 1-6.7 6.7c-2.6 0-4.3-1.1-5.6-3.3l-2.7-4.7c-.9-1.6 1-2.9 2.2-1.6L8 13",
  chat: "M4 5h16v11H11l-4.5 4v-4H4z",
  people:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20a6.5 6.5 0 0 1 13 0M16 4.4a3.5 3.5 0 0 1 0 6.3M18 14.2a6.5 6.5 0 0 1 3.5 5.8",
  more: "M4.5 12a1 1 0 1 0 2 0 1 1 0 1 0-2 0zM11 12a1 1 0 1 0 2 0 1 1 0 1 0-2 0zM17.5 12a1 1 0 1 0 2 0 1 1 0 1 0-2 0z",
  leave:
    "M3.5 14.5c-1-2 .6-4.2 2.7-5.1a15 15 0 0 1 11.6 0c2.1.9 3.7 3.1 2.7 5.1-.4.9-1.3 1-2.2.7l-2-.7c-.7-.2-1-.8-1-1.5v-1.3a11 11 0 0 0-6.6 0V13c0 .7-.3 1.3-1 1.5l-2 .7c-.9.3-1.8.2-2.2-.7z",
  close: "M6 6l12 12M18 6L6 18",
  pin: "M9 4h6l-.7 6 3.2 3.5H6.5L9.7 10zM12 13.5V20",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  check: "M5 12.5l4.5 4.5L19 7.5",
  cross: "M7 7l10 10M17 7L7 17",
  send: "M4 12l16-7-5 15-3.5-6z",
  grid: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  speaker: "M4 4h16v11H4zM4 18h4v2H4zM10 18h4v2h-4zM16 18h4v2h-4z",
  expand: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  settings: "M4 7h9M17 7h3M15 5v4M4 17h3M11 17h9M9 15v4",
  invite: "M10 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3.5 20a6.5 6.5 0 0 1 13 0M19 8v6M16 11h6",
  keyboard: "M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M17.5 10h.01M8 14h8",
  record: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
  up: "M7 14.5l5-5 5 5",
  smile: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM8 14a4.6 4.6 0 0 0 8 0M9 9.5v.5M15 9.5v.5",
  edit: "M5 19l1-4L15.5 5.5l3 3L9 18zM13.5 7.5l3 3",
  share: "M12 14V4M8.5 7.5L12 4l3.5 3.5M7 11H5v9h14v-9h-2",
  sound: "M4 10v4h3.5L12 18V6L7.5 10zM15.5 9a4 4 0 0 1 0 6M18 6.5a8 8 0 0 1 0 11",
  stop: "M6 6h12v12H6z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
