// Starts `linnet lsp` for the sources that are open and hands everything else to the client
// library. Works without a server too: the grammar colours the text.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
    const settings = vscode.workspace.getConfiguration("linnet");
    if (!settings.get("server.enable")) {
        return;
    }
    const [command, ...args] = settings.get("server.command");
    client = new LanguageClient(
        "linnet",
        "Linnet",
        { command, args },
        {
            documentSelector: [{ language: "linnet" }],
            synchronize: {
                fileEvents: vscode.workspace.createFileSystemWatcher("**/{*.linnet,linnet.toml}"),
            },
        },
    );
    try {
        await client.start();
    } catch (error) {
        client = undefined;
        vscode.window.showWarningMessage(
            `Linnet: \`${[command, ...args].join(" ")}\` did not start (${error.message}). ` +
                'It needs Linnet and `pip install "pygls>=2.0"`; linnet.server.command says where it is.',
        );
    }
}

async function stop() {
    const running = client;
    client = undefined;
    await running?.stop();
}

exports.activate = async (context) => {
    context.subscriptions.push(
        vscode.commands.registerCommand("linnet.restartServer", async () => {
            await stop();
            await start();
        }),
    );
    await start();
};

exports.deactivate = stop;
