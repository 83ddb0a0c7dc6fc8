/** The documentation's pages work without scripts; these add search, buttons that copy, and the demo's names in what they copy. */
import { addCopyButtons } from "./copy.ts";
import { fillIn } from "./demo-names.ts";
import { closePopovers, followReading, showCurrentPage } from "./page-list.ts";
import { SearchBox } from "./search-box.ts";

addCopyButtons();
new SearchBox().show();
showCurrentPage();
closePopovers();
followReading();
void fillIn(document.body.dataset.demo ?? "");
