# expected: coroutines
# program: erlc
cat > "$DIR/echo.erl" <<E
-module(echo).
-export([main/0]).
main() ->
    Options = [binary, {ip, {127, 0, 0, 1}}, {active, true}, {backlog, 300}, {reuseaddr, true}],
    {ok, Listening} = gen_tcp:listen($PORT, Options),
    accept(Listening).
accept(Listening) ->
    {ok, Socket} = gen_tcp:accept(Listening),
    Process = spawn(fun() -> receive go -> serve(Socket) end end),
    gen_tcp:controlling_process(Socket, Process),
    Process ! go,
    accept(Listening).
serve(Socket) ->
    receive
        {tcp, Socket, Bytes} -> gen_tcp:send(Socket, Bytes), serve(Socket);
        _ -> ok
    end.
E
cd "$DIR"
HOME="$DIR" erlc echo.erl
HOME="$DIR" exec erl -noshell -s echo main
