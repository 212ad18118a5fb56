"""Opening the page in the browser of the desktop, where there is one."""

import contextlib
import webbrowser


def open_browser(url: str) -> bool:
    """Opens the address; False where there is only a browser inside the terminal, or none."""
    with contextlib.suppress(webbrowser.Error):
        browser = webbrowser.get()
        # Browsers inside the terminal are of this very class; they would take the terminal away.
        if type(browser) is not webbrowser.GenericBrowser:
            return browser.open(url)
    return False
