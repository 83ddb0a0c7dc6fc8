/** Rooms, meetings and recordings. */
import "./shared.ts";

export { Meeting } from "../pages/meetings/meeting.tsx";
export { Meetings } from "../pages/meetings/meetings.tsx";
export { Recording } from "../pages/recordings/recording.tsx";
export { Recordings } from "../pages/recordings/recordings.tsx";
export { EditRoom } from "../pages/rooms/edit-room.tsx";
export { NewRoom } from "../pages/rooms/new-room.tsx";
export { Room } from "../pages/rooms/room.tsx";
export { Rooms } from "../pages/rooms/rooms.tsx";
