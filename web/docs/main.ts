/** The documentation's pages work without scripts; these add search and buttons that copy. */
import { addCopyButtons } from "./copy.ts";
import { showCurrentPage } from "./page-list.ts";
import { SearchBox } from "./search-box.ts";

addCopyButtons();
new SearchBox().show();
showCurrentPage();
